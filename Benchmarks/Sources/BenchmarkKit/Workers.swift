internal import Synchronization

/// Callers that make requests one after the other, each beginning the next when its last has ended.
struct Workers: Sendable {
    /// How many callers there are.
    let count: Int
    /// Where they run; nil is where Swift runs tasks by default.
    let executor: (any TaskExecutor)?
    /// One request.
    let operation: @Sendable () async throws -> Int

    /// Makes so many requests in all.
    func run(_ requests: Int) async -> Tally {
        let ticket = Ticket(requests)
        return await withTaskGroup(of: Tally.self) { group in
            for _ in 0..<min(count, requests) {
                group.addTask(executorPreference: executor) { await work(ticket) }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    private func work(_ ticket: Ticket) async -> Tally {
        var tally = Tally()
        while ticket.take() {
            tally.requests += 1
            do {
                tally.bytes += try await operation()
            } catch {
                tally.errors += 1
                if tally.firstError == nil { tally.firstError = String(reflecting: error) }
            }
        }
        return tally
    }
}

/// The requests that nobody has begun yet.
private final class Ticket: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func take() -> Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
}
