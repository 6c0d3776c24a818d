#if Service
public import Curlew
public import HTTPTypes
public import NIOCore

extension HTTPSession {
    /// Forwards a request that a server has received to the upstream, which is the session's ``Curlew/HTTPSession/baseURL``, and brings its
    /// answer: what a gateway (reverse proxy) does.
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
    /// Redirects are the client's to follow, contents stay as they are coded, and cookies are the client's own, whatever the session's
    /// chain does otherwise. A request is sent once, unless a link of the session repeats it. The article Gateways has all the rules.
    /// - Parameters:
    ///   - head: The request's head. Where a target is in absolute form, its host counts.
    ///   - body: The request's body, read while it is sent.
    ///   - client: The address that the request came from, for `Forwarded` and `X-Forwarded-For`.
    ///   - isSecure: True if the request came over TLS, for `Forwarded` and `X-Forwarded-Proto`. nil takes the scheme of the head, which a
    ///     client of HTTP/2 chooses as it likes.
    ///   - target: The path and query to ask for, with a slash at its beginning; nil is those of the head. Either comes below the path of
    ///     the base URL.
    ///   - rules: The rules of the gateway.
    ///   - options: How the request is carried, such as its time limits.
    /// - Returns: The upstream's answer. Where there is none, one of the gateway's own: 400 for a request that can be read in two ways, 502
    ///   and 504 for an upstream that failed or took too long, 503 where a limit of the session refused it, 508 for a loop, and others
    ///   that the article Gateways lists.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cancelled`` if the task was cancelled, as it should be when the client has
    ///   gone, and with ``Curlew/ErrorCode/invalidRequest`` for a session without a base URL.
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
            let request = CurlewRequest(
                head.method, forwarded.uri, fields: forwarded.fields,
                body: try await Self.body(received, forwarded.content), options: options.forwarding)
            let response = try await send(request, rules.onInterim)
            answer = Forwarding.Answer(response, to: head.method, via: rules.via(response))
            if answer.fields.contains(.contentLength) {
                let isReceived = request.body.isNone ? true : await received.isIdle
                if isReceived { try await answer.collect(of: head.method, upTo: rules.collectedBody) }
            }
        } catch let refusal as ForwardedRequest.Refusal {
            guard !refusal.isAnswered else { return Forwarding.Answer(refusal.status) }
            // No part of the request's body has been read, and none will be.
            return await rules.answer(
                CurlewError(.invalidRequest, refusal.reason), refusal.status, to: head.method)
        } catch {
            let error =
                (error as? CurlewError) ?? CurlewError(.bodyFailed, "the request's body failed", underlying: error)
            if error.isCancellation || Task.isCancelled {
                // A server that answers this itself may read on in the connection: nobody else may then.
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

    /// Sends a request; who listens to interim responses has had them all when it returns.
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
        let result: Result<CurlewResponse, any Error>
        do { result = .success(try await send(request)) } catch { result = .failure(error) }
        continuation.finish()
        await listener.value
        return try result.get()
    }
}

extension HTTPSession.Forwarding.Answer {
    /// Waits for the body, if it is short.
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

    /// The status that goes with a failure, as the article Gateways lists them.
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
    /// The same for a request of somebody else.
    fileprivate var forwarding: RequestOptions {
        var options = self
        options.redirects = .manual
        options.decodesContent = false
        options.usesCookies = false
        options.isForwarded = true
        return options
    }
}

/// A body of which somebody has to know when it is read no more.
protocol ClosableBody: Sendable {
    func close() async
}

extension ReceivedBody: ClosableBody {}
#endif
