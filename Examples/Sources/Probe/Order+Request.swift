internal import Curlew
internal import CurlewCredentials
internal import CurlewWebSockets
internal import HTTPTypes

extension Order {
    /// The session that the order names, with its settings and the standard chain that the order requires.
    func chainedSession(of probe: Probe) async throws -> HTTPSession {
        let key = SessionTable.Key(name: session, security: try await security.policy())
        let transport = try await probe.session(key).transport
        var chain = StandardChain.Options()
        chain.cookies = CookieHandling(await probe.cookies(of: self.session))
        chain.cache = await probe.cache(key)
        var token: OAuthCredential?
        var signing: AWSSigning?
        if let url, let credentials {
            let origin = try base.map {
                try HTTPSession(baseURL: $0, transport: transport).resolve(.raw(url)).description
            }
            let place = origin ?? url
            switch credentials {
            case .challenge: chain.authentication = try credentials.authentication(for: place)
            case .oauth(let settings): token = try await probe.token(SessionTable.TokenKey(key, settings, place))
            case .aws(let credential, let signature):
                signing = try AWSSigning(signature, for: place, credentials: .fixed(credential))
            }
        }
        var session = try HTTPSession(baseURL: base, transport: transport) {
            StandardChain(chain)
            if let token { token }
            if let signing { signing }
        }
        if let serializer = content.pairSerializer { session.requestSerializer = serializer }
        return session
    }

    /// Uploads a file by a resumable protocol, or the rest of it if there is an earlier token.
    func resume(
        _ path: String, _ dialect: ResumableUpload.Dialect, in session: HTTPSession,
        progress: @escaping @Sendable (ResumableUpload.Progress) -> Void
    ) async throws -> CurlewResponse {
        let head = try head(in: session)
        var upload = ResumableUpload.Options()
        upload.tokenFile = uploadToken
        if let uploadToken, Descriptor.isFile(uploadToken) {
            let token = try await UploadToken(contentsOf: uploadToken)
            // A token of another URL is ignored.
            if token.target == (try session.resolve(head.reference)) { upload.token = token }
        }
        return try await session.upload(
            file: path, to: head.reference, resumable: dialect, method: head.method, fields: head.fields,
            upload: upload, options: head.options, progress: progress)
    }

    /// Sends the request through the session's verbs, and serializes the response.
    func send<Serializer: ResponseSerializer>(
        in session: HTTPSession, as serializer: Serializer, _ adjust: (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Serializer.Output {
        var head = try head(in: session)
        adjust(&head.options)
        if let uploadFile {
            return try await session.upload(
                head.reference, .file(uploadFile), method: head.method, as: serializer, fields: head.fields,
                options: head.options)
        }
        // Trailers and chunked bodies have no verbs.
        guard trailers.isEmpty, !isChunked else {
            return try await session.send(try request(head, in: session), as: serializer)
        }
        if let given = try givenContent() {
            return try await session.send(
                head.method, head.reference, given, query: query, as: serializer, fields: head.fields,
                options: head.options)
        }
        return try await session.send(
            head.method, head.reference, parameters: RequestParameters(content.parameters),
            encoding: content.requestEncoding, as: serializer, fields: head.fields, options: head.options)
    }

    /// The content beside which parameters become the query; nil if they become the content.
    private func givenContent() throws -> CurlewRequest.Content? {
        if let parts = content.parts {
            guard body == nil else { throw CurlewError(.invalidRequest, "there are both a body and multipart") }
            let parameters = content.encoding == .query ? .none : RequestParameters(content.parameters)
            return .multipart(parameters: parameters) { form in for part in parts { try part.append(to: &form) } }
        }
        guard body != nil else { return nil }
        if content.parameters != nil, let encoding = content.encoding, encoding != .query {
            throw CurlewError(.invalidRequest, "there are both a body and parameters that make one")
        }
        return .body(requestBody)
    }

    /// The parameters that become the query beside a content.
    private var query: RequestParameters {
        content.parts == nil || content.encoding == .query ? RequestParameters(content.parameters) : .none
    }

    /// The request as the library's type.
    func request(in session: HTTPSession) throws -> CurlewRequest { try request(try head(in: session), in: session) }

    private func request(_ head: Head, in session: HTTPSession) throws -> CurlewRequest {
        var request =
            if let given = try givenContent() {
                try session.request(
                    head.method, head.reference, given, query: query, fields: head.fields, options: head.options)
            } else {
                try session.request(
                    head.method, head.reference, parameters: RequestParameters(content.parameters),
                    encoding: content.requestEncoding, fields: head.fields, options: head.options)
            }
        if isChunked { request.body = .stream { [body = request.body] in UnmeasuredChunks(body: body) } }
        request.trailers = try trailers.checked()
        return request
    }

    /// Opens a WebSocket, and passes it to a closure.
    func openWebSocket(
        in session: HTTPSession, _ body: (CurlewWebSocket) async throws -> Void
    ) async throws -> CurlewWebSocket.Ending {
        let head = try head(in: session)
        let options = CurlewWebSocket.Options(compression: compresses ? CurlewWebSocket.Compression() : nil)
        return try await session.webSocket(
            head.reference, protocols: protocols, fields: head.fields, options: options, requestOptions: head.options,
            body)
    }

    /// The common part of all requests.
    private struct Head {
        let method: HTTPRequest.Method
        let reference: URIReference
        let fields: HTTPFields
        var options: RequestOptions
    }

    private func head(in session: HTTPSession) throws -> Head {
        let reference = URIReference.raw(url ?? "")
        let uri = try session.resolve(reference)
        guard let method = HTTPRequest.Method(method ?? (uploadFile == nil ? "GET" : "POST")) else {
            throw CurlewError(.invalidRequest, "the method is not a token")
        }
        return Head(
            method: method, reference: reference, fields: try fields.checked(), options: try requestOptions(for: uri))
    }

    private var requestBody: CurlewRequest.Body {
        switch body {
        case nil: .none
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path): .file(path)
        }
    }

    private func requestOptions(for uri: CurlewURI) throws -> RequestOptions {
        var options = options
        options.versionPolicy = try versionPolicy(for: uri)
        options.redirects = redirectPolicy
        // The default is a single attempt.
        options.maximumAttempts = options.maximumAttempts ?? 1
        if let proxy {
            let url = try proxyLogin?.proxy(proxy) ?? (proxy == "environment" ? nil : Proxy(proxy))
            options.proxy = url.map { .proxy($0) } ?? .environment
        }
        if !hosts.isEmpty || !redirections.isEmpty || unixSocket != nil {
            options.route = ConnectionRoute(
                hosts: hosts, redirections: redirections.map { $0.redirection(for: uri) }, unixSocket: unixSocket)
        }
        return options
    }

    private var redirectPolicy: Redirects.Policy {
        switch redirect {
        case .follow: .follow(maximum: redirectLimit)
        case .manual: .manual
        case .error: .refuse
        }
    }

    private func versionPolicy(for uri: CurlewURI) throws -> HTTPVersionPolicy? {
        if version == .http2 || version == .http2PriorKnowledge, !trailers.isEmpty {
            throw LineProblem.unsupported("trailers over HTTP/2")
        }
        if version == .http3, !trailers.isEmpty { throw LineProblem.unsupported("trailers over HTTP/3") }
        switch version {
        case .negotiated: return nil
        case .http11: return .http11
        case .http2PriorKnowledge: return .http2PriorKnowledge
        case .http2:
            guard uri.scheme == "https" else { throw LineProblem.unsupported("http_version 2 without TLS") }
            return .negotiated
        case .http3:
            guard HTTPVersionPolicy.isHTTP3Available else { throw LineProblem.unsupported("HTTP/3 with this libcurl") }
            guard uri.scheme == "https" else { throw LineProblem.unsupported("http_version 3 without TLS") }
            return .http3Only
        }
    }
}

/// The bytes of another body, without its length.
private struct UnmeasuredChunks: AsyncSequence, Sendable {
    let body: CurlewRequest.Body

    struct Iterator: AsyncIteratorProtocol {
        let body: CurlewRequest.Body
        var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?

        mutating func next() async throws -> [UInt8]? {
            var chunks =
                if let chunks { chunks } else { try await body.stream().makeAsyncIterator() }
            defer { self.chunks = chunks }
            return try await chunks.next(isolation: #isolation)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: body) }
}
