public import HTTPTypes

extension RequestOptions {
    /// The treatment of a response whose head has arrived, as ``RequestOptions/onResponse`` decides.
    ///
    /// ```swift
    /// options.onResponse = { head, _ in
    ///     head.headerFields[.contentType] == "application/zip" ? .download(.folder("/srv/inbox")) : .allow
    /// }
    /// ```
    public struct ResponseDisposition: Sendable {
        enum Kind {
            case allow
            case cancel
            case download(Destination, IntegrityRequirement)
        }

        let kind: Kind

        /// Returns the response to the caller, with its body unread.
        public static let allow = RequestOptions.ResponseDisposition(kind: .allow)
        /// Ends the task with ``ErrorCode/cancelled``; the body is not read.
        public static let cancel = RequestOptions.ResponseDisposition(kind: .cancel)

        /// Turns the task into a download. Its progress and metrics continue, and its ``TaskActor/kind`` becomes
        /// ``TaskActor/Kind/download``.
        ///
        /// The body is written as by ``CurlewResponse/save(to:integrity:)``. Then the caller gets the response with an
        /// empty body and the file in ``CurlewResponse/file``.
        ///
        /// A response with an unsuccessful status is returned as with ``allow``: its body is not written to the
        /// destination.
        public static func download(
            _ destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement()
        )
            -> RequestOptions.ResponseDisposition
        {
            RequestOptions.ResponseDisposition(kind: .download(destination, integrity))
        }
    }
}

extension RequestOptions {
    /// Decides on a response whose head has arrived. The task is nil for a response without one, such as a stub's.
    typealias ResponseDecision = @Sendable (HTTPResponse, TaskActor?) async throws -> RequestOptions.ResponseDisposition

    private enum ResponseDecisionKey: SourceKey { static let defaultValue: ResponseDecision? = nil }

    /// Called on the caller's executor when the head of the response has arrived. It may return the response, cancel
    /// the task, or have the body written to a file; see ``RequestOptions/ResponseDisposition``.
    ///
    /// An ``HTTPSession`` calls it once a call, at the end of its chain, after redirects, retries and content decoding.
    /// ``SessionActor/send(_:)`` and ``TaskActor/response()`` call it for each response. The task is the one that
    /// received the response; it is nil for a response without one, such as a stub's. An error that the closure throws
    /// ends the task and is thrown to the caller.
    public var onResponse: (@Sendable (HTTPResponse, TaskActor?) async throws -> RequestOptions.ResponseDisposition)? {
        get { self[ResponseDecisionKey.self] }
        set { self[ResponseDecisionKey.self] = newValue }
    }
}

extension CurlewResponse {
    private enum DecisionKey: Key { static let defaultValue: SharedDecision? = nil }

    /// The decision that all waiters for the response share, until the caller gets the response.
    var decision: SharedDecision? {
        get { self[DecisionKey.self] }
        set { self[DecisionKey.self] = newValue }
    }

    /// The response for the caller, after any pending decision.
    ///
    /// Not inlined: every call would reserve stack space for it while it waits.
    @inline(never)
    func decided() async throws -> CurlewResponse {
        guard let decision else { return self }
        // The decision keeps its result, so the result must not retain the decision.
        var response = self
        response.decision = nil
        return try await decision.resolve(response)
    }

    fileprivate var context: CurlewError.Context {
        CurlewError.Context(
            method: exchange?.request.method, uri: uri, stage: .receiving, response: head, attempts: attempts,
            history: history, showsQuery: showsQuery)
    }

    /// Calls the closure and carries out its decision.
    func disposed(by decide: RequestOptions.ResponseDecision) async throws -> CurlewResponse {
        let disposition: RequestOptions.ResponseDisposition
        do {
            disposition = try await decide(head, task)
        } catch {
            body.abandon()
            guard let cancellation = error as? CancellationError else { throw error }
            throw CurlewError(cancellation, context: context)
        }
        switch disposition.kind {
        case .allow: return self
        case .cancel:
            body.abandon()
            throw CurlewError(.cancelled, "the response was not wanted", context: context)
        case .download(let destination, let integrity):
            guard status.kind == .successful else { return self }
            (exchange as? Exchange)?.becomeDownload()
            var response = self
            response.file = try await save(to: destination, integrity: integrity)
            response.body = .bytes([])
            return response
        }
    }
}

/// A decision on a response that all its waiters share: the first one makes it.
final class SharedDecision: Sendable {
    private typealias Waiter = CheckedContinuation<CurlewResponse, any Error>

    private struct State {
        var hasBegun = false
        var result: Result<CurlewResponse, any Error>?
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let decide: RequestOptions.ResponseDecision
    private let state = Guarded(State())

    init(_ decide: @escaping RequestOptions.ResponseDecision) { self.decide = decide }

    /// The response for the caller, after the decision.
    func resolve(_ response: CurlewResponse) async throws -> CurlewResponse {
        let isFirst = state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        guard isFirst else { return try await wait(response) }
        let result: Result<CurlewResponse, any Error>
        do {
            result = .success(try await response.disposed(by: decide))
        } catch {
            result = .failure(error)
        }
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.result = result
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
        return try result.get()
    }

    /// Waits for the decision of the first caller.
    private func wait(_ response: CurlewResponse) async throws -> CurlewResponse {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result = state.withLock { state in
                    if state.result == nil { state.waiters[number] = waiter }
                    return state.result
                }
                if let result { return waiter.resume(with: result) }
                // A cancellation before the waiter was added did not find it.
                if Task.isCancelled { leave(number, response) }
            }
        } onCancel: {
            leave(number, response)
        }
    }

    /// Removes the waiter of a cancelled task, and cancels the exchange.
    private func leave(_ number: Int, _ response: CurlewResponse) {
        guard let waiter = state.withLock({ $0.waiters.removeValue(forKey: number) }) else { return }
        response.body.abandon()
        waiter.resume(
            throwing: CurlewError(
                .cancelled, "the task was cancelled during the decision on the response", context: response.context))
    }
}
