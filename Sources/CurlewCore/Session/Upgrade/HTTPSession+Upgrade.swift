public import HTTPTypes

extension HTTPSession {
    /// Asks a server to switch the connection to another protocol (RFC 9110 §7.8), and passes its bytes in both
    /// directions to the closure. The connection is closed when the closure returns or throws, or when its task is
    /// cancelled.
    ///
    /// The request passes through the complete chain. It uses its own HTTP/1.1 connection, which counts towards
    /// ``ConnectionLimits``. Its time limits end with the head of the response. An HTTP proxy gets a CONNECT. Links and
    /// listeners handle it like any other request. Its exchange lasts as long as the connection, so
    /// ``SessionActor/shutdown(deadline:)`` waits for it. Rate limits and ``TaskActor/suspend()`` do not apply to the
    /// bytes of the other protocol.
    ///
    /// The end of the closure closes the connection at once, and bytes that the peer has not received may be lost. To
    /// make sure that the peer gets them, call ``HTTPSession/UpgradedStream/finish()`` and read the stream to its end.
    ///
    /// ```swift
    /// var route = ConnectionRoute()
    /// route.unixSocket = "/var/run/docker.sock"
    /// let output = try await docker.upgrade(
    ///     "containers/\(id)/attach?stream=1&stdout=1", to: "tcp", method: .post, options: RequestOptions(route: route)
    /// ) { stream in
    ///     var output: [UInt8] = []
    ///     for try await bytes in stream { output += bytes }
    ///     return output
    /// }
    /// ```
    /// - Parameters:
    ///   - reference: The URL; `ws` and `wss` stand for `http` and `https`.
    ///   - protocolName: The protocol for the field Upgrade: a name and an optional version.
    ///   - method: The method. The request has no body.
    ///   - query: Parameters for the query of the URL.
    ///   - fields: Fields of the request. The method adds Connection and Upgrade.
    ///   - credential: The credential for the field Authorization.
    ///   - options: Other options. A redirect is refused unless ``RequestOptions/redirects`` is set.
    ///   - body: The closure that uses the connection.
    /// - Returns: The result of the closure.
    /// - Throws: ``CurlewError``: ``ErrorCode/upgradeRefused`` with the response and the beginning of its body if the
    ///   server does not switch; ``ErrorCode/foreignFailure`` for the closure's own error.
    public func upgrade<Value>(
        _ reference: URIReference, to protocolName: String, method: HTTPRequest.Method = .get,
        query: RequestParameters = .none, fields: HTTPFields = HTTPFields(), credential: Credential? = nil,
        options: RequestOptions = RequestOptions(), _ body: (UpgradedStream) async throws -> Value
    ) async throws -> Value {
        let request = try upgradeRequest(
            method, reference, to: protocolName, query: query, fields: fields, credential: credential, options: options)
        var response = try await send(request)
        guard let connection = response.upgradedConnection, let stream = try await response.takeUpgradedStream() else {
            throw await response.upgradeRefusal(.upgradeRefused, "did not switch to \(protocolName)")
        }
        do {
            let result = try await withTaskCancellationHandler {
                try await body(stream)
            } onCancel: {
                connection.cancel()
            }
            await stream.connection.close()
            return result
        } catch {
            await stream.connection.close()
            throw CurlewError(wrapping: error, request)
        }
    }

    /// The request that asks for an upgrade.
    package func upgradeRequest(
        _ method: HTTPRequest.Method, _ reference: URIReference, to protocolName: String, query: RequestParameters,
        fields: HTTPFields, credential: Credential?, options: RequestOptions
    ) throws -> CurlewRequest {
        var options = options
        options.upgradeProtocol = protocolName
        options.redirects = options.redirects ?? .refuse
        return try request(
            method, reference.withWebScheme, .none, query: query, fields: fields, credential: credential,
            options: options)
    }
}

extension CurlewResponse {
    /// Takes the connection of a response that has switched protocols, as a stream.
    package mutating func takeUpgradedStream() async throws -> HTTPSession.UpgradedStream? {
        guard let connection = upgradedConnection else { return nil }
        upgradedConnection = nil
        let stream = HTTPSession.UpgradedStream(response: self, connection: UpgradedStreamConnection(connection))
        try await stream.connection.start()
        return stream
    }

    /// The error of a response that has not switched protocols, with the beginning of its body.
    package func upgradeRefusal(_ code: ErrorCode, _ deed: String) async -> CurlewError {
        let prefix = await body.gather(upTo: ByteSize(CurlewError.bodyPrefixLimit)).bytes
        return refusal(code, "the server answered with the status \(status.code), and \(deed)", bodyPrefix: prefix)
    }

    /// An error that a response has caused.
    package func refusal(
        _ code: ErrorCode, _ message: String, bodyPrefix: [UInt8] = [], underlying: (any Error)? = nil
    ) -> CurlewError {
        let context = CurlewError.Context(
            method: sentRequest?.method, uri: uri, stage: .receiving, response: head, bodyPrefix: bodyPrefix,
            attempts: attempts, history: history, showsQuery: showsQuery)
        return CurlewError(code, message, context: context, underlying: underlying)
    }
}

extension URIReference {
    /// The same reference with `http` instead of `ws`, and `https` instead of `wss`.
    var withWebScheme: URIReference {
        guard case .text(let text) = storage else { return self }
        for (scheme, web) in [("ws:", "http:"), ("wss:", "https:")]
        where text.utf8.prefix(scheme.utf8.count).map(\.lowercasedASCII).elementsEqual(scheme.utf8) {
            return .raw(web + String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self))
        }
        return self
    }
}
