/// Those who wait for the head of a task's response; mostly it is one.
struct ResponseWaiters {
    typealias Waiter = UnsafeContinuation<CurlewResponse, any Error>

    private var first: Waiter?
    private var others: [Waiter] = []

    var isEmpty: Bool { first == nil }

    mutating func append(_ waiter: Waiter) {
        if first == nil { first = waiter } else { others.append(waiter) }
    }

    /// Gives all of them the same.
    mutating func resolve(with result: Result<CurlewResponse, CurlewError>) {
        guard let first else { return }
        let others = self.others
        self = ResponseWaiters()
        first.resume(with: result)
        for waiter in others { waiter.resume(with: result) }
    }
}
