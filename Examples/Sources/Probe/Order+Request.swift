internal import Curlew
internal import HTTPTypes

extension Order {
    /// The session that the order names with the settings it has, behind the standard chain as the order wants it.
    func chainedSession(of probe: Probe) async throws -> HTTPSession {
        let key = SessionTable.Key(name: session, security: try await security.policy())
        let session = try await probe.session(key)
        var chain = StandardChain.Options()
        chain.cookies = CookieHandling(await probe.cookies(of: self.session))
        if let url, let credentials { chain.authentication = try credentials.link(for: url) }
        return try HTTPSession(transport: session.transport) { StandardChain(chain) }
    }

    /// The request as the library takes it.
    func request(in session: HTTPSession) throws -> CurlewRequest {
        let uri = try session.resolve(.raw(url ?? ""))
        guard let method = HTTPRequest.Method(method) else {
            throw CurlewError(.invalidRequest, "the method is not a token")
        }
        return CurlewRequest(
            method, uri,
            fields: try fields.checked(),
            body: requestBody,
            trailers: try trailers.checked(),
            options: try requestOptions(for: uri)
        )
    }

    private var requestBody: CurlewRequest.Body {
        switch body {
        case nil: isChunked ? .stream { ByteChunks(bytes: []) } : .none
        case .bytes(let bytes): isChunked ? .stream { ByteChunks(bytes: bytes) } : .bytes(bytes)
        case .file(let path): isChunked ? .stream { FileChunks(path: path) } : .file(path)
        }
    }

    private func requestOptions(for uri: CurlewURI) throws -> RequestOptions {
        var options = options
        options.versionPolicy = try versionPolicy(for: uri)
        options.redirects = redirectPolicy
        // Unless the line says otherwise, nothing is sent again.
        options.maximumAttempts = options.maximumAttempts ?? 1
        if let proxy { options.proxy = proxy == "environment" ? .environment : .proxy(try Proxy(proxy)) }
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
        switch version {
        case .negotiated: return nil
        case .http11: return .http11
        case .http2PriorKnowledge: return .http2PriorKnowledge
        case .http2:
            guard uri.scheme == "https" else { throw LineProblem.unsupported("http_version 2 without TLS") }
            return .negotiated
        }
    }
}

extension [RawField] {
    fileprivate func checked() throws -> HTTPFields {
        var fields = HTTPFields()
        for field in self { fields.append(try HTTPField(checking: field.name, value: field.value)) }
        return fields
    }
}

/// Bytes in chunks of a size that a stream would have.
private struct ByteChunks: AsyncSequence, Sendable {
    let bytes: [UInt8]

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>

        mutating func next() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            let chunk = rest.prefix(64 << 10)
            rest = rest.dropFirst(chunk.count)
            return Array(chunk)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...]) }
}
