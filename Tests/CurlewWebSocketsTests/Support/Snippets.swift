import Curlew
import CurlewTesting
import CurlewWebSockets
import HTTPTypes

// The code of the article WebSocket, which must compile. `DocumentationTests` compares the two.

private struct Price: Codable, Sendable {
    var number: Int
    var symbol: String
    var value: Double
}

private struct Subscription: Codable, Sendable { var symbols: [String] }

func chat(_ api: HTTPSession, room: Int) async throws -> CurlewWebSocket.Ending {
    try await api.webSocket("rooms/\(room)") { socket in
        try await socket.send(.text("hello"))
        for try await message in socket.messages {
            print(message.text ?? "\(message.bytes.count) bytes")
        }
    }
}

func prices(_ api: HTTPSession) async throws {
    var options = CurlewWebSocket.Options(compression: CurlewWebSocket.Compression(), closeTimeout: .seconds(2))
    options.limits.messageSize = .mebibytes(1)
    try await api.webSocket("prices", protocols: ["prices.v2", "prices.v1"], options: options) { socket in
        print(socket.subprotocol ?? "no subprotocol", socket.isCompressed)
        try await socket.send(json: Subscription(symbols: ["CRLW"]))
        for try await message in socket.messages {
            let price = try message.json(as: Price.self)
            print(price.symbol, price.value)
        }
    }
}

func relay(_ file: AsyncStream<[UInt8]>, over socket: CurlewWebSocket) async throws -> Int {
    try await socket.send(.binary, chunks: file)
    var size = 0
    for try await part in socket.parts {
        size += part.bytes.count
        if part.isLast { break }
    }
    return size
}

func follow(_ api: HTTPSession) async {
    let source = api.webSocketSource("prices") { last in
        guard let last else { return WebSocketSource.Handshake() }
        return WebSocketSource.Handshake(query: ["after": try last.json(as: Price.self).number])
    }
    for await event in source {
        switch event {
        case .connecting: print("connecting")
        case .open(let socket): try? await socket.send(.text("subscribe"))
        case .message(let message): print(message.text ?? "")
        case .closed(let closing): print(closing.error?.code ?? "closed", closing.wait ?? "for good")
        }
    }
}

func attach(_ docker: HTTPSession, to container: String) async throws -> String {
    try await docker.upgrade("containers/\(container)/attach?stream=1&stdout=1", to: "tcp", method: .post) { stream in
        try await stream.write(Array("date\n".utf8))
        try await stream.finish()
        var output: [UInt8] = []
        for try await bytes in stream { output += bytes }
        return String(decoding: output, as: UTF8.self)
    }
}

func echoServer() async throws -> MockWebSocketServer {
    try await MockWebSocketServer.start { socket in
        while let message = try await socket.nextMessage() { try await socket.send(message) }
    }
}

/// The recipe of Recipes.md.
func recipe(_ api: HTTPSession, id: Int) async throws -> [String] {
    var texts: [String] = []
    try await api.webSocket("rooms/\(id)") { socket in
        try await socket.send(.text("hello"))
        for try await message in socket.messages {
            texts.append(message.text ?? "")
            if texts.count == 2 { break }
        }
    }
    return texts
}
