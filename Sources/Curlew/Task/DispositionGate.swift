internal import HTTPTypes

/// Lets the first of those who wait for one response decide upon it, for all of them.
final class DispositionGate: Sendable {
    private typealias Waiter = CheckedContinuation<Response, any Error>

    private enum State {
        case open
        case deciding([Waiter])
        /// The response in it has no gate, so that nothing holds itself.
        case decided(Result<Response, any Error>)
    }

    private let decide: @Sendable (HTTPResponse, TaskActor?) async throws -> ResponseDisposition
    private let state = Guarded(State.open)

    init(_ decide: @escaping @Sendable (HTTPResponse, TaskActor?) async throws -> ResponseDisposition) {
        self.decide = decide
    }

    func pass(_ response: Response) async throws -> Response {
        let isFirst = state.withLock { state in
            guard case .open = state else { return false }
            state = .deciding([])
            return true
        }
        guard isFirst else { return try await wait() }
        let result: Result<Response, any Error>
        do {
            result = .success(try await response.disposed(by: decide))
        } catch {
            result = .failure(error)
        }
        let waiters: [Waiter] = state.withLock { state in
            guard case .deciding(let waiters) = state else { return [] }
            state = .decided(result)
            return waiters
        }
        for waiter in waiters { waiter.resume(with: result) }
        return try result.get()
    }

    private func wait() async throws -> Response {
        try await withCheckedThrowingContinuation { waiter in
            let result: Result<Response, any Error>? = state.withLock { state in
                switch state {
                case .open: break
                case .deciding(let waiters): state = .deciding(waiters + [waiter])
                case .decided(let result): return result
                }
                return nil
            }
            if let result { waiter.resume(with: result) }
        }
    }
}
