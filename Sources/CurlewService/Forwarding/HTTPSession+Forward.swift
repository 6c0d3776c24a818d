#if Service
public import Curlew
public import HTTPTypes
public import NIOCore

extension HTTPSession {
    /// Forwards a request that a server has received to the upstream, the session's ``Curlew/HTTPSession/baseURL``, and
    /// returns its answer, as a gateway (reverse proxy) does.
    ///
    /// ```swift
    /// let upstream = try HTTPSession(baseURL: "http://10.0.0.7:8080/", chain: .bare)
    /// let rules = try HTTPSession.Forwarding(named: "edge")
    ///
    /// router.get("**") { request, context in
    ///     let answer = try await upstream.forward(request.head, body: request.body, as: rules)
    ///     return Response(
    ///         status: answer.status, headers: answer.fields,
    ///         body: ResponseBody { writer in
    ///             try await answer.send { try await writer.write($0) } finish: { try await writer.finish($0) }
    ///         })
    /// }
    /// ```
    ///
    /// Redirects are left to the client, content codings stay, and cookies are the client's own, whatever the session's
    /// chain does otherwise. A request is sent once, unless a link of the session repeats it. The article Gateways
    /// lists all rules.
    /// - Parameters:
    ///   - head: The request's head. If its target is in absolute form, the target's host takes precedence.
    ///   - body: The request's body, read while it is sent.
    ///   - client: The address of the client, for `Forwarded` and `X-Forwarded-For`.
    ///   - isSecure: True if the request came over TLS, for `Forwarded` and `X-Forwarded-Proto`. nil uses the scheme of
    ///     the head, which a client of HTTP/2 can choose freely.
    ///   - target: The path and query for the upstream, with a leading slash; nil means those of the head. Either is
    ///     appended to the path of the base URL.
    ///   - rules: The rules of the gateway.
    ///   - options: The options of the upstream's request, such as its timeouts.
    /// - Returns: The upstream's answer, or an answer of the gateway itself. The gateway answers an ambiguous request
    ///   with 400, a failed upstream with 502, an upstream that timed out with 504, a limit of the session with 503,
    ///   and a loop with 508. The article Gateways lists the others.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cancelled`` if the task was cancelled, as it should be
    ///   when the client has disconnected, and with ``Curlew/ErrorCode/invalidRequest`` for a session without a base
    ///   URL.
    public func forward<Buffers: AsyncSequence & Sendable>(
        _ head: HTTPRequest, body: Buffers, from client: SocketAddress? = nil, isSecure: Bool? = nil,
        to target: String? = nil, as rules: Forwarding, options: RequestOptions = RequestOptions()
    ) async throws -> Forwarding.Answer where Buffers.Element == ByteBuffer {
        guard let baseURL else {
            throw CurlewError(.invalidRequest, "a session that forwards needs the base URL of the upstream")
        }
        let received = ReceivedBody(body, endsWithTransfer: false)
        var answer: Forwarding.Answer
        do {
            let address = client?.ipAddress.flatMap { IPNetwork.canonicalAddress($0) }
            let forwarded = try ForwardedRequest(
                head, target: target, client: address, isSecure: isSecure, base: baseURL, rules: rules)
            var options = options.forwarding
            options.upgradeProtocol = forwarded.upgrade
            let request = CurlewRequest(
                head.method, forwarded.uri, fields: forwarded.fields,
                body: forwarded.upgrade == nil ? try await Self.body(received, forwarded.content) : .none,
                options: options)
            var response = try await send(request, rules.onInterim)
            let upgraded = try await response.takeUpgradedStream()
            answer = Forwarding.Answer(response, to: head.method, via: rules.via(response))
            answer.upgraded = upgraded
            if answer.fields.contains(.contentLength) {
                let isReceived = request.body.isNone ? true : await received.isIdle
                if isReceived { try await answer.collect(of: head.method, upTo: rules.collectedBody) }
            }
        } catch let refusal as ForwardedRequest.Refusal {
            guard !refusal.isAnswered else { return Forwarding.Answer(refusal.status) }
            // The request's body has not been read and will not be read.
            return await rules.answer(
                CurlewError(.invalidRequest, refusal.reason), refusal.status, to: head.method)
        } catch {
            let error =
                (error as? CurlewError) ?? CurlewError(.bodyFailed, "the request's body failed", underlying: error)
            if error.isCancellation || Task.isCancelled {
                // A server that answers this error may read on the connection: no other read may be in progress then.
                await received.close()
                throw error
            }
            answer = await rules.answer(error, Forwarding.status(for: error.code), to: head.method)
            if await !received.isIdle { answer.buffer = nil }
        }
        answer.received = received
        return answer
    }

    private static func body<Buffers>(_ received: ReceivedBody<Buffers>, _ content: ForwardedRequest.Content)
        async throws -> CurlewRequest.Body
    {
        switch content {
        case .none: .none
        case .length(0): .bytes([])
        case .length(let length): .relayed(received, length: length)
        case .chunked: .relayed(received, length: nil)
        case .unannounced: try await received.isEmpty() ? .none : .relayed(received, length: nil)
        }
    }

    /// Sends a request; `onInterim` has received all interim responses when this function returns. A cancellation of
    /// the task also cancels `onInterim`.
    private func send(_ request: CurlewRequest, _ onInterim: (@Sendable (HTTPResponse) async -> Void)?) async throws
        -> CurlewResponse
    {
        guard let onInterim else { return try await send(request) }
        var request = request
        let (tasks, continuation) = AsyncStream.makeStream(of: TaskActor.self)
        let before = request.options.onTask
        request.options.onTask = { task in
            before?(task)
            continuation.yield(task)
        }
        let listener = Task {
            for await task in tasks {
                for await head in await task.interimResponses where head.status.code != 101 {
                    await onInterim(
                        HTTPResponse(status: head.status, headerFields: HopFields.interim(head.headerFields)))
                }
            }
        }
        let result = await withTaskCancellationHandler {
            let result: Result<CurlewResponse, any Error>
            do { result = .success(try await send(request)) } catch { result = .failure(error) }
            continuation.finish()
            await listener.value
            return result
        } onCancel: {
            listener.cancel()
        }
        return try result.get()
    }
}

extension HTTPSession.Forwarding.Answer {
    /// Collects the body if it is short.
    fileprivate mutating func collect(of method: HTTPRequest.Method, upTo limit: ByteSize) async throws {
        if method == .head { return buffer = ByteBuffer() }
        guard let length = body.length, length <= limit.bytes else { return }
        let bytes = try await body.buffer(upTo: limit)
        buffer = bytes
    }
}

extension HTTPSession.Forwarding {
    /// The entry of a response in Via.
    func via(_ response: CurlewResponse) -> String {
        response.version.major < 2
            ? "\(response.version.major).\(response.version.minor) \(name)" : "\(response.version.major) \(name)"
    }

    func answer(_ error: CurlewError, _ status: HTTPResponse.Status, to method: HTTPRequest.Method) async -> Answer {
        var answer: Answer
        if let onError {
            answer = await onError(error, status)
        } else {
            let text = "\(status.code) \(status.reasonPhrase)\n"
            answer = Answer(status, fields: [.contentType: "text/plain; charset=utf-8"], bytes: Array(text.utf8))
        }
        answer.error = error
        if method == .head { answer.removeContent() }
        return answer
    }

    /// The status for an error code, as listed in the article Gateways.
    static func status(for code: ErrorCode) -> HTTPResponse.Status {
        switch code {
        case .invalidURL, .invalidRequest, .bodyFailed, .bodyLengthMismatch: .badRequest
        case .overloaded, .rateLimited, .circuitOpen, .connectionWaitTimeout, .sessionInvalidated, .resourcesExhausted:
            .serviceUnavailable
        case _ where code.isTimeout || code == .deadlineUnreachable || code == .deadlineExceeded: .gatewayTimeout
        default: .badGateway
        }
    }
}

extension RequestOptions {
    /// The same options for a forwarded request.
    fileprivate var forwarding: RequestOptions {
        var options = self
        options.redirects = .manual
        options.decodesContent = false
        options.usesCookies = false
        options.isForwarded = true
        return options
    }
}

/// A body that reports when no read of it is in progress.
protocol ClosableBody: Sendable {
    func close() async
}

extension ReceivedBody: ClosableBody {}
#endif
