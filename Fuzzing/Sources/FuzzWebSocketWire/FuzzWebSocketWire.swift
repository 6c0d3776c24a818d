internal import Dispatch
internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewWebSockets

/// Arbitrary frames of a server over a socket. Each WebSocket ends within its timeouts, no turn of the loop is long,
/// the messages are those of the frames, and the connection leaves nothing behind.
@main
struct FuzzWebSocketWire: FuzzTarget {
    private static let server = FrameServer()
    private static let session = Result {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5), total: .seconds(5))
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-fuzz")], chain: .bare)
    }

    /// The maximum time of a WebSocket with a close timeout of 50 ms, on a machine with other work.
    private static let patience = Duration.seconds(20)
    /// The maximum processor time of a turn of the loop, including the share of a sanitizer.
    private static let longestTurn = Duration.milliseconds(500)

    static func check(_ input: [UInt8]) {
        let script = Script(input)
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                try await run(script, session.get())
            } catch {
                require(false, "the session fails: \(error)")
            }
            done.signal()
        }
        done.wait()
    }

    private static func run(_ script: Script, _ session: HTTPSession) async throws {
        let served = server.serve(script)
        TurnWatch.start()
        let start = ContinuousClock.now
        let task = Task { await open(script, session) }
        if script.use == .cancelled { task.cancel() }
        await task.value
        let duration = ContinuousClock.now - start
        require(duration < patience, "a WebSocket took \(duration)")
        // The connections and tasks of this input end before the next input.
        while await !isQuiet(session) {
            require(ContinuousClock.now - start < patience, "a connection is left")
            await Task.yield()
        }
        await served.value
        let turn = TurnWatch.stop()
        require(turn < longestTurn, "a turn of the loop took \(turn) of its processor's time")
    }

    /// True if the session has neither connections nor tasks.
    private static func isQuiet(_ session: HTTPSession) async -> Bool {
        guard let actor = session.session else { return true }
        guard await actor.connectionCount() == 0 else { return false }
        return await actor.tasks().isEmpty
    }

    private static func open(_ script: Script, _ session: HTTPSession) async {
        var messages: [CurlewWebSocket.Message] = []
        var isRead = false
        do {
            try await session.webSocket(.raw(server.url), options: script.options) { socket in
                for _ in 0..<script.sentMessages { try await socket.send(.text("hello")) }
                switch script.use {
                case .left: break
                case .messages, .cancelled:
                    defer { isRead = true }
                    for try await message in socket.messages { messages.append(message) }
                case .parts:
                    defer { isRead = true }
                    var bytes: [UInt8] = []
                    for try await part in socket.parts {
                        bytes = part.isFirst ? part.bytes : bytes + part.bytes
                        if part.isLast { messages.append(CurlewWebSocket.Message(part.kind, bytes: bytes)) }
                    }
                }
            }
        } catch let error as CurlewError {
            require(!"\(error)".isEmpty, "an error says nothing")
        } catch {
            require(false, "a WebSocket fails with \(type(of: error)): \(error)")
        }
        let expected = script.messages
        require(
            messages.count <= expected.count && messages == Array(expected.prefix(messages.count)),
            "the messages are others than those of the frames")
        guard isRead, script.use != .cancelled, script.ending != .reset else { return }
        requireEqual(messages.count, expected.count, "messages were lost")
    }
}

/// The actions of the server and the client, decoded from an input.
struct Script: Sendable {
    enum Ending: Sendable { case close, reset, keep }
    enum Use: Sendable { case messages, parts, left, cancelled }

    let pieceSize: Int
    let ending: Ending
    let use: Use
    let isCompressed: Bool
    let sentMessages: Int
    let options: CurlewWebSocket.Options
    let frames: [UInt8]

    init(_ input: [UInt8]) {
        var choices = Choices(input)
        let size = Int(choices.byte())
        pieceSize = size == 0 ? .max : size
        ending = choices.one(of: [.close, .reset, .keep])
        use = choices.one(of: [.messages, .parts, .left, .cancelled])
        isCompressed = choices.one(of: [false, true])
        sentMessages = choices.one(of: [0, 1, 5])
        options = CurlewWebSocket.Options(
            compression: isCompressed ? CurlewWebSocket.Compression() : nil,
            receiveBufferSize: choices.one(of: [100, 65536]), pingInterval: nil, closeTimeout: .milliseconds(50))
        frames = Array(choices.rest.prefix(60_000))
    }

    /// The messages of the frames, up to the first violation.
    var messages: [CurlewWebSocket.Message] {
        var reader = MessageReader(role: .client, compression: isCompressed ? DeflateAgreement() : nil)
        var buffer = ReceiveBuffer()
        var kind = CurlewWebSocket.Message.Kind.binary
        var bytes: [UInt8] = []
        var messages: [CurlewWebSocket.Message] = []
        buffer.fill(with: frames)
        do {
            while let event = try reader.next(in: &buffer, into: &bytes) {
                switch event {
                case .begin(let begun):
                    kind = begun
                    bytes = []
                case .end: messages.append(CurlewWebSocket.Message(kind, bytes: bytes))
                case .chunk, .ping, .pong: break
                case .close: return messages
                }
            }
        } catch {}
        return messages
    }
}
