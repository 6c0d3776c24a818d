#if TestKit
internal import NIOConcurrencyHelpers

/// A value behind a lock, with tasks that wait for a condition of it. Every wait is for a condition, never for a time.
final class Watched<State: Sendable>: Sendable {
    private struct Waiter: Sendable {
        /// Checks the state, may change it, and returns the function that resumes the waiting task; nil while the
        /// condition is false.
        let attempt: @Sendable (inout State) -> (@Sendable () -> Void)?
        let cancel: @Sendable () -> Void
    }

    private struct Storage: Sendable {
        var state: State
        var waiters: [(id: Int, waiter: Waiter)] = []
        var nextID = 0
    }

    private let storage: NIOLockedValueBox<Storage>

    init(_ state: State) {
        self.storage = NIOLockedValueBox(Storage(state: state))
    }

    /// Reads or changes the state and resumes the tasks whose condition is true afterwards.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        let (result, resumptions) = try self.storage.withLockedValue { storage in
            let result = try body(&storage.state)
            return (result, Self.satisfied(in: &storage))
        }
        for resume in resumptions { resume() }
        return result
    }

    /// Returns the result of `body` as soon as it is not `nil`; throws when the task is cancelled.
    func take<Result: Sendable>(_ body: @escaping @Sendable (inout State) -> Result?) async throws -> Result {
        if let result = self.update(body) { return result }
        let id = self.storage.withLockedValue { storage in
            storage.nextID += 1
            return storage.nextID
        }
        let result = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Result, any Error>) in
                self.wait(id: id, continuation: continuation, body)
                if Task.isCancelled { self.cancel(id) }
            }
        } onCancel: {
            self.cancel(id)
        }
        // ThreadSanitizer does not see that a resumption orders earlier writes, but it sees a lock.
        self.storage.withLockedValue { _ in }
        return result
    }

    /// Waits until `condition` is true and returns the state at that moment.
    @discardableResult
    func wait(until condition: @escaping @Sendable (State) -> Bool) async throws -> State {
        try await self.take { condition($0) ? $0 : nil }
    }

    private func wait<Result: Sendable>(
        id: Int,
        continuation: CheckedContinuation<Result, any Error>,
        _ body: @escaping @Sendable (inout State) -> Result?
    ) {
        let waiter = Waiter(
            attempt: { state in
                guard let result = body(&state) else { return nil }
                return { continuation.resume(returning: result) }
            },
            cancel: { continuation.resume(throwing: CancellationError()) }
        )
        let resumptions = self.storage.withLockedValue { storage in
            storage.waiters.append((id, waiter))
            return Self.satisfied(in: &storage)
        }
        for resume in resumptions { resume() }
    }

    private func cancel(_ id: Int) {
        let waiter: (@Sendable () -> Void)? = self.storage.withLockedValue { storage in
            guard let index = storage.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return storage.waiters.remove(at: index).waiter.cancel
        }
        waiter?()
    }

    private static func satisfied(in storage: inout Storage) -> [@Sendable () -> Void] {
        guard !storage.waiters.isEmpty else { return [] }
        var resumptions: [@Sendable () -> Void] = []
        var progress = true
        while progress {
            progress = false
            var index = 0
            while index < storage.waiters.count {
                if let resume = storage.waiters[index].waiter.attempt(&storage.state) {
                    storage.waiters.remove(at: index)
                    resumptions.append(resume)
                    progress = true
                } else {
                    index += 1
                }
            }
        }
        return resumptions
    }
}
#endif
