import Curlew

@testable import CurlewWebSockets

/// A connection without a socket that sends back each message. It drives the state machines like the module's
/// endpoint.
struct EchoConnection: ~Copyable {
    private var reader: MessageReader
    private var writer: MessageWriter
    private var closing: ClosingHandshake
    private var input = ReceiveBuffer()
    private var message: [UInt8] = []
    private var kind = CurlewWebSocket.Message.Kind.binary
    /// The bytes for the peer.
    private(set) var output: [UInt8] = []
    private(set) var ending: CurlewWebSocket.Ending?
    private(set) var isConnectionClosed = false

    init(
        role: WebSocketRole, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(),
        compression: DeflateAgreement? = nil
    ) {
        reader = MessageReader(role: role, limits: limits, compression: compression)
        writer = MessageWriter(
            role: role, compression: compression, options: CurlewWebSocket.Compression(minimumSize: 0))
        closing = ClosingHandshake(role: role)
    }

    mutating func receive(_ bytes: [UInt8]) throws {
        input.fill(with: bytes)
        do throws(WebSocketViolation) {
            while let event = try reader.next(in: &input, into: &message) { try take(event) }
        } catch {
            perform(.peerViolated(error))
        }
    }

    mutating func handle(_ event: ClosingHandshake.Event) { perform(event) }

    private mutating func take(_ event: MessageEvent) throws(WebSocketViolation) {
        switch event {
        case .begin(let begun): kind = begun
        case .chunk: break
        case .end:
            if closing.canSend { try writer.write(CurlewWebSocket.Message(kind, bytes: message), into: &output) }
            message.removeAll(keepingCapacity: true)
        case .ping(let payload): if closing.canSend { writer.write(.pong(payload), into: &output) }
        case .pong: break
        case .close(let status): perform(.closeReceived(status))
        }
    }

    private mutating func perform(_ event: ClosingHandshake.Event) {
        for action in closing.handle(event) {
            switch action {
            case .sendClose(let status):
                writer.write(.close(status), into: &output)
                perform(.closeFlushed)
            case .startTimer: break
            case .closeConnection: isConnectionClosed = true
            case .finish(let ending): self.ending = ending
            }
        }
    }
}
