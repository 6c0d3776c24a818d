/// Those who wait for the head of a task's response; mostly it is one.
struct ResponseWaiters {
    /// A response, and the decision that all who wait for it share.
    typealias Delivery = (response: CurlewResponse, decision: SharedDecision?)
    typealias Waiter = UnsafeContinuation<Delivery, any Error>

    private var first: Waiter?
    private var others: [Waiter] = []

    var isEmpty: Bool { first == nil }

    mutating func append(_ waiter: Waiter) {
        if first == nil { first = waiter } else { others.append(waiter) }
    }

    /// Gives all of them the same.
    mutating func resolve(with result: Result<Delivery, CurlewError>) {
        guard let first else { return }
        let others = self.others
        self = ResponseWaiters()
        first.resume(with: result)
        for waiter in others { waiter.resume(with: result) }
    }
}
