#if TestKit
internal import Curlew
public import CurlewWebSockets
internal import HTTPTypes

extension StubAnswer {
    /// Opens a WebSocket, with the closure as the server's end. The closure runs in a separate task, and the connection
    /// ends when the closure returns or throws.
    ///
    ///     stub.on(.get, "/chat", answer: .webSocket { socket in try await socket.echo() })
    ///
    /// A request that is not a valid handshake is refused, as in ``MockWebSocket/accept(_:protocols:options:adjust:)``.
    /// - Parameters:
    ///   - protocols: The subprotocols that the server supports, the preferred one first.
    ///   - options: The bounds and the compression of the server.
    ///   - handler: The server's end.
    public static func webSocket(
        protocols: [String] = [], options: CurlewWebSocket.Options = CurlewWebSocket.Options(),
        handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> StubAnswer {
        StubAnswer(outcome: .webSocket(StubWebSocket(protocols: protocols, options: options, handler: handler)))
    }
}

/// The WebSockets of a stub.
struct StubWebSocket: Sendable {
    let protocols: [String]
    let options: CurlewWebSocket.Options
    let handler: @Sendable (MockWebSocket) async throws -> Void

    func open(_ request: CurlewRequest) throws -> CurlewResponse {
        var asked = HTTPRequest(
            method: request.method, scheme: nil, authority: request.uri.authority, path: request.uri.path,
            headerFields: request.fields)
        if let name = request.options.upgradeProtocol {
            asked.headerFields[.upgrade] = name
            asked.headerFields[.connection] = "Upgrade"
        }
        let nonce = request.options.upgradeNonce.map { name in
            let nonce = HandshakeKey().text
            asked.headerFields[name] = nonce
            return nonce
        }
        let handshake = ServerHandshake(subprotocols: self.protocols, compression: self.options.compression)
        let answer: (response: HTTPResponse, agreement: HandshakeAgreement)
        do throws(HandshakeFailure) {
            answer = try handshake.answer(to: asked)
        } catch {
            let refusal = ServerHandshake.refusal(error)
            return CurlewResponse(refusal.status, fields: refusal.headerFields, uri: request.uri)
        }
        let connection = StubConnection(
            on: try CurlewEventLoop.shared, bufferSize: request.options.bodyBufferSize?.bytes ?? 1 << 20, nonce: nonce)
        let socket = MockWebSocket(connection, asked, answer.agreement, self.options)
        let handler = self.handler
        Task {
            try? await handler(socket)
            connection.finish()
        }
        var response = CurlewResponse(
            answer.response.status, fields: answer.response.headerFields, uri: request.uri)
        response.upgradedConnection = connection
        return response
    }
}
#endif
