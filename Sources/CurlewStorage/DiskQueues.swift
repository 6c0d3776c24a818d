#if Storage
internal import Dispatch
internal import Synchronization

/// A small set of queues for file access, so that a slow disk delays neither Swift's threads nor the index.
final class DiskQueues: Sendable {
    private static let count = 4

    private let queues = (0..<DiskQueues.count).map { DispatchQueue(label: "curlew.cache.\($0)") }
    private let turn = Atomic(0)

    /// The queue for the next file.
    var next: DispatchQueue {
        let (turn, _) = turn.wrappingAdd(1, ordering: .relaxed)
        return queues[turn & (Self.count - 1)]
    }
}

extension DispatchQueue {
    /// Performs work that may block.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
#endif
