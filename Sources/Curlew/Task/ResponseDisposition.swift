public import HTTPTypes

extension RequestOptions {
    /// What is to become of a response whose head has come; ``RequestOptions/onResponse`` decides.
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

        /// The response goes to the caller, its body still to be read.
        public static let allow = RequestOptions.ResponseDisposition(kind: .allow)
        /// The task ends with ``ErrorCode/cancelled``, and nothing of the body is read.
        public static let cancel = RequestOptions.ResponseDisposition(kind: .cancel)

        /// The task becomes a download: it stays the same, with its progress and its figures, and its ``TaskActor/kind`` is
        /// ``TaskActor/Kind/download`` from now on. The body is written as ``CurlewResponse/save(to:integrity:)`` does it, and the response
        /// then goes to the caller with an empty body and the file in ``CurlewResponse/file``.
        ///
        /// A response that is no success is handed on as with ``allow``: its body never reaches the destination.
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
    /// Decides on a response whose head has come; the task is that which carried it, nil where none did, as with a stub.
    typealias ResponseDecision = @Sendable (HTTPResponse, TaskActor?) async throws -> RequestOptions.ResponseDisposition

    private enum ResponseDecisionKey: SourceKey { static let defaultValue: ResponseDecision? = nil }

    /// Called on the caller's side when the head of the response has come: it may let the response through, cancel the task,
    /// or have the body written into a file; see ``RequestOptions/ResponseDisposition``.
    ///
    /// An ``HTTPSession`` asks once a call, when its chain is through: redirects have been followed, failures tried again and
    /// codings undone by then. ``SessionActor/send(_:)`` and ``TaskActor/response()`` of a task of one's own ask for each
    /// response. The task is that which carried the response; nil where none did, as with a stub. What the closure throws ends
    /// the task and is the caller's error.
    public var onResponse: (@Sendable (HTTPResponse, TaskActor?) async throws -> RequestOptions.ResponseDisposition)? {
        get { self[ResponseDecisionKey.self] }
        set { self[ResponseDecisionKey.self] = newValue }
    }
}

extension CurlewResponse {
    private enum DecisionKey: Key { static let defaultValue: SharedDecision? = nil }

    /// The decision that all who wait for the response share, until it is the caller's.
    var decision: SharedDecision? {
        get { self[DecisionKey.self] }
        set { self[DecisionKey.self] = newValue }
    }

    /// The response as it goes to the caller, decided upon if that is still to be done.
    ///
    /// Not inlined: every call would keep room for it in its frame while it waits.
    @inline(never)
    func decided() async throws -> CurlewResponse {
        guard let decision else { return self }
        // What was decided is kept, and must not hold what keeps it.
        var response = self
        response.decision = nil
        return try await decision.resolve(response)
    }

    private var context: CurlewError.Context {
        CurlewError.Context(
            method: exchange?.request.method, uri: uri, stage: .receiving, response: head, attempts: attempts,
            history: history, showsQuery: showsQuery)
    }

    /// Asks what is to become of the response, and does that.
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

/// One decision on a response for all who wait for it: the first of them asks for it.
final class SharedDecision: Sendable {
    private typealias Waiter = CheckedContinuation<CurlewResponse, any Error>

    private enum State {
        case open
        case deciding([Waiter])
        case decided(Result<CurlewResponse, any Error>)
    }

    private let decide: RequestOptions.ResponseDecision
    private let state = Guarded(State.open)

    init(_ decide: @escaping RequestOptions.ResponseDecision) { self.decide = decide }

    /// The response as it goes to the caller, decided upon.
    func resolve(_ response: CurlewResponse) async throws -> CurlewResponse {
        let isFirst = state.withLock { state in
            guard case .open = state else { return false }
            state = .deciding([])
            return true
        }
        guard isFirst else { return try await wait() }
        let result: Result<CurlewResponse, any Error>
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

    private func wait() async throws -> CurlewResponse {
        try await withCheckedThrowingContinuation { waiter in
            let result: Result<CurlewResponse, any Error>? = state.withLock { state in
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
