public import Curlew
public import HTTPTypes

extension HTTPSession {
    /// Opens a WebSocket (RFC 6455), and gives it to the closure. The end of the closure closes it.
    ///
    /// - A closure that returns closes it with ``CurlewWebSockets/CurlewWebSocket/CloseCode/normalClosure``, one that throws with
    ///   ``CurlewWebSockets/CurlewWebSocket/CloseCode/internalError``, and a task that is cancelled with ``CurlewWebSockets/CurlewWebSocket/CloseCode/goingAway``. The closing handshake takes
    ///   ``CurlewWebSockets/CurlewWebSocket/Options/closeTimeout`` at most, which a cancellation does not cut short.
    /// - The handshake is a GET over HTTP/1.1 that goes through the whole chain: credentials, cookies, challenges and retries act as on any request. A
    ///   redirect is refused unless ``RequestOptions/redirects`` says otherwise. The connection is one of the session's own, counted
    ///   among its ``ConnectionLimits``, and judged by its policies. Through an HTTP proxy it goes by CONNECT.
    /// - ``SessionActor/shutdown(deadline:)`` closes the WebSocket with ``CurlewWebSockets/CurlewWebSocket/CloseCode/goingAway``, and waits for its end.
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
    ///   - fields: Fields of the handshake. Those of the WebSocket itself are set here.
    ///   - credential: The credential for the field Authorization.
    ///   - options: The bounds and times of the WebSocket.
    ///   - requestOptions: The options of the handshake.
    ///   - body: The use of the WebSocket.
    /// - Returns: The end of the WebSocket.
    /// - Throws: ``CurlewError``: ``ErrorCode/webSocketHandshakeFailed`` with the response and the beginning of its body; those of a request; an error of
    ///   ``CurlewWebSockets/CurlewWebSocket`` that the closure has passed on; ``ErrorCode/foreignFailure`` with an error of the closure's own.
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
    /// Opens a WebSocket, which is not started.
    func openWebSocket(
        _ reference: URIReference, protocols: [String], query: RequestParameters, fields: HTTPFields,
        credential: Credential?, options: CurlewWebSocket.Options, requestOptions: RequestOptions
    ) async throws -> CurlewWebSocket {
        let opening = try WebSocketOpening(protocols, fields, options)
        var requestOptions = requestOptions
        // Each connection has a key of its own, also those of retries.
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
