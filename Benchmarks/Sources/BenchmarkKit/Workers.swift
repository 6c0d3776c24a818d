internal import Synchronization

/// Callers that make requests in sequence: each begins its next request when the last has ended.
struct Workers: Sendable {
    /// The number of callers.
    let count: Int
    /// The executor of the callers; nil for Swift's default.
    let executor: (any TaskExecutor)?
    /// A single request of the caller with this number.
    let operation: @Sendable (Int) async throws -> Int

    /// Makes a total number of requests.
    func run(_ requests: Int) async -> Tally {
        let ticket = Ticket(requests)
        return await withTaskGroup(of: Tally.self) { group in
            for caller in 0..<min(count, requests) {
                group.addTask(executorPreference: executor) { await work(ticket, caller) }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    private func work(_ ticket: Ticket, _ caller: Int) async -> Tally {
        var tally = Tally()
        while ticket.take() {
            tally.requests += 1
            do {
                tally.bytes += try await operation(caller)
            } catch {
                tally.errors += 1
                if tally.firstError == nil { tally.firstError = String(reflecting: error) }
            }
        }
        return tally
    }
}

/// The number of requests that have not begun yet.
private final class Ticket: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func take() -> Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
}
