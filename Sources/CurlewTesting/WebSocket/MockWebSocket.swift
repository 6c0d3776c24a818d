#if TestKit
internal import Curlew
public import CurlewWebSockets
public import HTTPTypes

/// The server's end of a WebSocket in a test. It can follow the protocol, or violate it as the test requires.
///
///     let server = try await MockWebSocketServer.start { socket in
///         while case .message(let message)? = try await socket.receive() { try await socket.send(message) }
///     }
///
/// One task receives at a time. The actor sends nothing automatically: pings and close frames are events. ``echo()``
/// answers both.
public actor MockWebSocket {
    /// An event from the client.
    public enum Event: Sendable, Hashable {
        /// A whole message.
        case message(CurlewWebSocket.Message)
        /// A ping.
        case ping([UInt8])
        /// A pong.
        case pong([UInt8])
        /// The close frame. It is the last event.
        case close(CurlewWebSocket.CloseStatus)
    }

    /// The underlying connection, which a test can end in every way; nil for a ``StubTransport``.
    public nonisolated let connection: RawConnection?
    private nonisolated let channel: any MockWebSocketChannel
    /// The client's handshake.
    public nonisolated let request: HTTPRequest
    /// The negotiated subprotocol.
    public nonisolated let subprotocol: String?
    /// True if messages may be compressed.
    public nonisolated let isCompressed: Bool
    private var reader: MessageReader
    private var writer: MessageWriter
    private var input = ReceiveBuffer()
    private var message: [UInt8] = []
    private var kind = CurlewWebSocket.Message.Kind.binary

    init(
        _ channel: any MockWebSocketChannel, _ request: HTTPRequest, _ agreement: HandshakeAgreement,
        _ options: CurlewWebSocket.Options
    ) {
        self.channel = channel
        connection = channel as? RawConnection
        self.request = request
        subprotocol = agreement.subprotocol
        isCompressed = agreement.compression != nil
        reader = MessageReader(role: .server, limits: options.limits, compression: agreement.compression)
        writer = MessageWriter(
            role: .server, compression: agreement.compression,
            options: options.compression ?? CurlewWebSocket.Compression())
    }

    /// Reads the client's handshake and accepts it.
    /// - Parameters:
    ///   - connection: A connection of a ``RawServer``.
    ///   - protocols: The subprotocols that the server supports, the preferred one first.
    ///   - options: The bounds and the compression of the server.
    ///   - adjust: A closure that changes the response before it is sent.
    /// - Throws: ``TestKitError`` for a handshake that violates RFC 6455. The client gets a response with an error
    ///   status.
    public static func accept(
        _ connection: RawConnection, protocols: [String] = [],
        options: CurlewWebSocket.Options = CurlewWebSocket.Options(),
        adjust: @Sendable (inout HTTPResponse) -> Void = { _ in }
    ) async throws -> MockWebSocket {
        let request = try HTTPRequest(head: try await connection.readHead())
        let handshake = ServerHandshake(subprotocols: protocols, compression: options.compression)
        let result: Result<(response: HTTPResponse, agreement: HandshakeAgreement), HandshakeFailure>
        do throws(HandshakeFailure) {
            result = .success(try handshake.answer(to: request))
        } catch {
            result = .failure(error)
        }
        switch result {
        case .success((var response, let agreement)):
            adjust(&response)
            try await connection.write(response.headText)
            return MockWebSocket(connection, request, agreement, options)
        case .failure(let failure):
            var response = ServerHandshake.refusal(failure)
            response.headerFields[.contentLength] = "0"
            try await connection.write(response.headText)
            throw TestKitError("the client's handshake: \(failure)")
        }
    }

    // MARK: Receiving

    /// The next event; nil after the client has ended the connection.
    /// - Throws: ``TestKitError`` for a frame that violates RFC 6455.
    public func receive() async throws -> Event? {
        while true {
            do throws(WebSocketViolation) {
                while let event = try reader.next(in: &input, into: &message) {
                    if let event = take(event) { return event }
                }
            } catch {
                throw TestKitError("the client broke the protocol: \(error)")
            }
            guard let bytes = try await channel.read() else { return nil }
            input.fill(with: bytes)
        }
    }

    private func take(_ event: MessageEvent) -> Event? {
        switch event {
        case .begin(let kind):
            self.kind = kind
            message = []
            return nil
        case .chunk: return nil
        case .end: return .message(CurlewWebSocket.Message(kind, bytes: message))
        case .ping(let payload): return .ping(payload)
        case .pong(let payload): return .pong(payload)
        case .close(let status): return .close(status)
        }
    }

    /// The next message; nil after the client's close frame or the end of the connection. Pings are answered meanwhile.
    public func nextMessage() async throws -> CurlewWebSocket.Message? {
        while let event = try await receive() {
            switch event {
            case .message(let message): return message
            case .ping(let payload): try await pong(payload)
            case .pong: break
            case .close: return nil
            }
        }
        return nil
    }

    // MARK: Sending

    /// Sends a message in one frame.
    public func send(_ message: CurlewWebSocket.Message) async throws {
        var bytes: [UInt8] = []
        do throws(WebSocketViolation) {
            try writer.write(message, into: &bytes)
        } catch {
            throw TestKitError("\(error)")
        }
        try await channel.write(bytes)
    }

    /// Sends a ping.
    public func ping(_ payload: [UInt8] = []) async throws { try await send(.ping(payload)) }

    /// Sends a pong.
    public func pong(_ payload: [UInt8]) async throws { try await send(.pong(payload)) }

    /// Sends a close frame.
    public func close(_ code: CurlewWebSocket.CloseCode = .normalClosure, reason: String = "") async throws {
        try await send(.close(CurlewWebSocket.CloseStatus(code, reason: reason) ?? .withoutCode))
    }

    private func send(_ frame: ControlFrame) async throws {
        var bytes: [UInt8] = []
        writer.write(frame, into: &bytes)
        try await channel.write(bytes)
    }

    /// Sends bytes without a frame.
    public func write(_ bytes: [UInt8]) async throws { try await channel.write(bytes) }

    /// Sends a frame, even if it violates the protocol.
    public func send(_ frame: MockWebSocketFrame) async throws { try await channel.write(frame.bytes) }

    /// Sends back each message, and answers pings and the close frame.
    /// - Returns: The client's close frame; nil if the connection ended without it.
    @discardableResult
    public func echo() async throws -> CurlewWebSocket.CloseStatus? {
        while let event = try await receive() {
            switch event {
            case .message(let message): try await send(message)
            case .ping(let payload): try await pong(payload)
            case .pong: break
            case .close(let status):
                try await send(.close(CurlewWebSocket.CloseStatus(status.code) ?? .withoutCode))
                return status
            }
        }
        return nil
    }
}

/// The channel of bytes under a ``MockWebSocket``.
protocol MockWebSocketChannel: Sendable {
    /// The next bytes; nil after the client has ended its side.
    func read() async throws -> [UInt8]?
    func write(_ bytes: [UInt8]) async throws
}

extension RawConnection: MockWebSocketChannel {}

extension HTTPRequest {
    /// Reads the text of a head.
    init(head: String) throws {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)
        let parts = lines.first?.split(separator: " ") ?? []
        guard parts.count == 3, let method = HTTPRequest.Method(String(parts[0])) else {
            throw TestKitError("no request line: \(head)")
        }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                throw TestKitError("no field: \(line)")
            }
            fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...])))
        }
        self.init(method: method, scheme: nil, authority: nil, path: String(parts[1]), headerFields: fields)
    }
}

extension HTTPResponse {
    /// The text of the head in HTTP/1.1.
    var headText: String {
        let fields = headerFields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
        return "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\(fields)\r\n"
    }
}
#endif
