/// The callers that wait for the head of a task's response, usually one.
struct ResponseWaiters {
    typealias Waiter = UnsafeContinuation<CurlewResponse, any Error>

    private var first: Waiter?
    private var others: [Waiter] = []

    var isEmpty: Bool { first == nil }

    mutating func append(_ waiter: Waiter) {
        if first == nil { first = waiter } else { others.append(waiter) }
    }

    /// Resumes all waiters with the same response.
    mutating func resolve(with response: consuming CurlewResponse) {
        guard let first else { return }
        let others = take()
        // Usually there is a single waiter, which gets the response without a copy.
        for waiter in others { waiter.resume(returning: copy response) }
        first.resume(returning: response)
    }

    mutating func fail(with error: CurlewError) {
        first?.resume(throwing: error)
        for waiter in take() { waiter.resume(throwing: error) }
    }

    /// Removes all waiters, and returns those beyond the first.
    private mutating func take() -> [Waiter] {
        defer { self = ResponseWaiters() }
        return others
    }
}
