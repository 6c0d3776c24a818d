internal import Curlew
internal import CurlewWebSockets
internal import HTTPTypes

extension Operation {
    /// Opens a WebSocket and sends the items of this line and of later lines. It answers with a line for each event,
    /// until the WebSocket is closed or the order is aborted.
    static let webSocket = Operation(
        name: "websocket",
        rules: [.session, .send] + FieldRule.message.filter { ["url", "base", "headers"].contains($0.name) }
            + FieldRule.carriage + FieldRule.policy
            + [.word("cache", always: "default", "no-store")] + FieldRule.security + [
                FieldRule("protocols") { field, order in order.protocols = try field.strings() },
                FieldRule("compress") { field, order in order.compresses = try field.flag() },
            ]
    ) { order, probe in
        guard let url = order.url else { throw LineProblem.unusable("url is missing") }
        var order = order
        order.url = handshakeURL(url)
        probe.enter(order)
        return { [order] answering in
            try await probe.leaving(order.session) {
                let session = try await order.chainedSession(of: probe)
                let (items, item) = AsyncStream.makeStream(of: WebSocketItem.self)
                for one in order.items { item.yield(one) }
                let ending = try await order.openWebSocket(in: session) { socket in
                    await probe.add(item, of: answering.id.value)
                    do {
                        try await follow(socket, items, answering)
                    } catch {
                        await probe.removeItems(of: answering.id.value)
                        throw error
                    }
                    await probe.removeItems(of: answering.id.value)
                }
                await answering.write(closed(ending))
            }
        }
    }

    /// Sends more items over an open WebSocket.
    static let webSocketSend = Operation(
        name: "ws-send",
        rules: [
            .session, .send, FieldRule("target", takesNull: true) { field, order in order.target = field.value },
        ]
    ) { order, probe in
        guard let target = order.target else { throw LineProblem.unusable("target is missing") }
        let isFound = probe.send(order.items, over: target)
        return { await $0.write([.init("sent", .bool(isFound))]) }
    }

    /// The URL of the handshake, which is a request of HTTP.
    private static func handshakeURL(_ url: String) -> String {
        let scheme = url.prefix(4).lowercased()
        return scheme == "wss:" ? "https" + url.dropFirst(3) : scheme.hasPrefix("ws:") ? "http" + url.dropFirst(2) : url
    }

    private static func follow(
        _ socket: CurlewWebSocket, _ items: AsyncStream<WebSocketItem>, _ answering: Answering
    ) async throws {
        let fields = socket.response.fields
        await answering.write([
            .init("event", .string("open")), .init("protocol", socket.subprotocol.map { .string($0) } ?? .null),
            .init("extensions", fields[.secWebSocketExtensions].map { .string($0) } ?? .null),
            .init("headers", .list(fields)),
        ])
        let sending = Task { for await item in items { try await item.send(over: socket) } }
        defer { sending.cancel() }
        for try await message in socket.messages {
            let content: JSONValue.Member =
                switch message.content {
                case .text(let text): .init("text", .string(text))
                case .binary(let bytes): .init("body", .base64(bytes))
                }
            await answering.write([.init("event", .string("message")), content])
        }
    }

    private static func closed(_ ending: CurlewWebSocket.Ending) -> [JSONValue.Member] {
        [
            .init("event", .string("closed")), .init("code", .integer(ending.code.rawValue)),
            .init("reason", .string(ending.received?.reason ?? "")), .init("clean", .bool(ending.isClean)),
        ]
    }
}

/// An item to send over a WebSocket.
enum WebSocketItem: Sendable {
    case message(CurlewWebSocket.Message)
    case ping
    case close(CurlewWebSocket.CloseCode, String)

    init(_ field: FieldValue) throws {
        var code: CurlewWebSocket.CloseCode?
        var reason = ""
        var item: WebSocketItem?
        for (name, member) in try field.members() {
            switch name {
            case "text": item = .message(.text(try member.string()))
            case "body": item = .message(.binary(try member.bytes()))
            case "ping": item = .ping
            case "close":
                guard let number = UInt16(exactly: try member.count()) else { throw member.wrong("a close code") }
                code = CurlewWebSocket.CloseCode(rawValue: number)
            case "reason": reason = try member.string()
            default: throw LineProblem.unsupported("field \(member.name)")
            }
        }
        if let code { item = .close(code, reason) }
        guard let item else { throw field.wrong("a list of texts, bodies, pings and closes") }
        self = item
    }

    /// Sends the item. The pong of a ping is not awaited.
    func send(over socket: CurlewWebSocket) async throws {
        switch self {
        case .message(let message): try await socket.send(message)
        case .ping: Task { try await socket.ping() }
        case .close(let code, let reason): try await socket.close(code, reason: reason)
        }
    }
}

extension FieldRule {
    fileprivate static let send = FieldRule("send") { field, order in
        order.items = try field.elements("a list of texts, bodies, pings and closes").map { try WebSocketItem($0) }
    }
}
