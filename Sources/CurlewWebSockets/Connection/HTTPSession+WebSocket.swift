public import Curlew
public import HTTPTypes

extension HTTPSession {
    /// Opens a WebSocket (RFC 6455), passes it to the closure, and closes it when the closure ends.
    ///
    /// - The close code is ``CurlewWebSockets/CurlewWebSocket/CloseCode/normalClosure`` if the closure returns,
    ///   ``CurlewWebSockets/CurlewWebSocket/CloseCode/internalError`` if it throws, and
    ///   ``CurlewWebSockets/CurlewWebSocket/CloseCode/goingAway`` if the task is cancelled. The closing handshake takes
    ///   at most ``CurlewWebSockets/CurlewWebSocket/Options/closeTimeout``, even in a cancelled task.
    /// - The handshake is a GET over HTTP/1.1 that passes through the complete chain: credentials, cookies, challenges
    ///   and retries apply as for any request. A redirect is refused unless ``RequestOptions/redirects`` is set. The
    ///   connection serves only the WebSocket. It counts towards the session's ``ConnectionLimits``, and the session's
    ///   policies apply to it. An HTTP proxy gets a CONNECT.
    /// - ``SessionActor/shutdown(deadline:)`` closes the WebSocket with
    ///   ``CurlewWebSockets/CurlewWebSocket/CloseCode/goingAway`` and waits for its end.
    ///
    /// ```swift
    /// let ending = try await api.webSocket("rooms/\(id)") { socket in
    ///     try await socket.send(.text("hello"))
    ///     for try await message in socket.messages { print(message.text ?? "bytes") }
    /// }
    /// print(ending.code)
    /// ```
    /// - Parameters:
    ///   - reference: The URL; `ws` and `wss` stand for `http` and `https`.
    ///   - protocols: The subprotocols to offer, the preferred one first.
    ///   - query: Parameters for the query of the URL.
    ///   - fields: Fields of the handshake. The method adds those of RFC 6455.
    ///   - credential: The credential for the field Authorization.
    ///   - options: The bounds and times of the WebSocket.
    ///   - requestOptions: The options of the handshake.
    ///   - body: The closure that uses the WebSocket.
    /// - Returns: The end of the WebSocket.
    /// - Throws: ``CurlewError``: ``ErrorCode/webSocketHandshakeFailed`` with the response and the beginning of its
    ///   body; the errors of a request; an error of ``CurlewWebSockets/CurlewWebSocket`` that the closure rethrows;
    ///   ``ErrorCode/foreignFailure`` for the closure's own error.
    @discardableResult
    public func webSocket(
        _ reference: URIReference, protocols: [String] = [], query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil,
        options: CurlewWebSocket.Options = CurlewWebSocket.Options(), requestOptions: RequestOptions = RequestOptions(),
        _ body: (CurlewWebSocket) async throws -> Void
    ) async throws -> CurlewWebSocket.Ending {
        let socket = try await openWebSocket(
            reference, protocols: protocols, query: query, fields: fields, credential: credential, options: options,
            requestOptions: requestOptions)
        let connection = socket.connection
        try await connection.start()
        do {
            try await withTaskCancellationHandler {
                try await body(socket)
            } onCancel: {
                connection.closeSoon(.goingAway)
            }
        } catch {
            _ = await connection.end(Task.isCancelled ? .goingAway : .internalError)
            throw CurlewError(wrapping: error)
        }
        return await connection.end(Task.isCancelled ? .goingAway : .normalClosure)
    }
}

extension HTTPSession {
    /// Opens a WebSocket. The caller starts its connection.
    func openWebSocket(
        _ reference: URIReference, protocols: [String], query: RequestParameters, fields: HTTPFields,
        credential: Credential?, options: CurlewWebSocket.Options, requestOptions: RequestOptions
    ) async throws -> CurlewWebSocket {
        let opening = try WebSocketOpening(protocols, fields, options)
        var requestOptions = requestOptions
        // Each connection, including those of retries, has a new key.
        requestOptions.upgradeNonce = .secWebSocketKey
        let request = try upgradeRequest(
            .get, reference, to: "websocket", query: query, fields: opening.fields, credential: credential,
            options: requestOptions)
        return try await opening.socket(for: try await send(request), json: json)
    }
}

/// The opening handshake of a WebSocket.
struct WebSocketOpening {
    /// The fields of the request.
    let fields: HTTPFields
    private let handshake: ClientHandshake
    private let options: CurlewWebSocket.Options

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest``.
    init(_ protocols: [String], _ fields: HTTPFields, _ options: CurlewWebSocket.Options) throws {
        try options.check()
        OpenSSLLibrary.start()
        do throws(HandshakeFailure) {
            handshake = try ClientHandshake(subprotocols: protocols, compression: options.compression)
        } catch {
            throw CurlewError(.invalidRequest, error.description)
        }
        self.options = options
        var all = fields
        for field in handshake.fields where field.name != .upgrade && field.name != .connection {
            guard fields[fields: field.name].isEmpty else {
                throw CurlewError(.invalidRequest, "the field \(field.name.rawName) is set by the handshake")
            }
            if field.name != .secWebSocketKey { all.append(field) }
        }
        self.fields = all
    }

    /// Checks the response.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketHandshakeFailed``.
    func socket(for response: CurlewResponse, json: JSONCoding) async throws -> CurlewWebSocket {
        guard let upgraded = response.upgradedConnection else {
            throw await response.upgradeRefusal(.webSocketHandshakeFailed, "opened no WebSocket")
        }
        let agreement: HandshakeAgreement
        do throws(HandshakeFailure) {
            var handshake = handshake
            guard let key = upgraded.nonce.flatMap(HandshakeKey.init) else { throw .wrongAccept }
            handshake.key = key
            agreement = try handshake.check(response.head)
        } catch {
            let refusal = response.refusal(.webSocketHandshakeFailed, error.description)
            upgraded.loop.execute { upgraded.fail(refusal) }
            throw refusal
        }
        var response = response
        response.upgradedConnection = nil
        return CurlewWebSocket(
            response: response, subprotocol: agreement.subprotocol, isCompressed: agreement.compression != nil,
            connection: WebSocketConnection(upgraded, agreement, options), dialect: JSONDialect(json))
    }
}
