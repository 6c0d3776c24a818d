internal import Curlew
internal import HTTPTypes

extension Order {
    /// The session that the order names with the settings it has, and a check around it.
    func watchedSession(of probe: Probe) async throws -> HTTPSession {
        let key = SessionTable.Key(name: session, security: try await security.policy())
        let session = try await probe.session(key)
        return try HTTPSession(transport: session.transport) { SupportCheck(order: self, probe: probe) }
    }

    /// The request as the library takes it.
    func request(in session: HTTPSession) throws -> Request {
        let uri = try session.resolve(url ?? "")
        guard let method = HTTPRequest.Method(method) else {
            throw CurlewError(.invalidRequest, "the method is not a token")
        }
        return Request(
            method, uri,
            fields: try fields.checked(),
            body: requestBody,
            trailers: try trailers.checked(),
            options: try requestOptions(for: uri)
        )
    }

    private var requestBody: RequestBody {
        switch body {
        case nil: isChunked ? .stream { ByteChunks(bytes: []) } : .none
        case .bytes(let bytes): isChunked ? .stream { ByteChunks(bytes: bytes) } : .bytes(bytes)
        case .file(let path): isChunked ? .stream { FileChunks(path: path) } : .file(path)
        }
    }

    private func requestOptions(for uri: URI) throws -> RequestOptions {
        var options = options
        options.protocolChoice = try protocolChoice(for: uri)
        if !hosts.isEmpty || !redirections.isEmpty || unixSocket != nil {
            options.route = Route(
                hosts: hosts, redirections: redirections.map { $0.redirection(for: uri) }, unixSocket: unixSocket)
        }
        return options
    }

    private func protocolChoice(for uri: URI) throws -> ProtocolChoice? {
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
