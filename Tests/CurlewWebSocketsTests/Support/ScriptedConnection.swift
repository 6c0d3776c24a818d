import Curlew

@testable import CurlewWebSockets

/// An upgraded connection without a socket. The test sets every result. All methods are called on its loop.
///
/// `@unchecked Sendable`: it is used only on its loop.
final class ScriptedConnection: UpgradedConnection, @unchecked Sendable {
    let loop: CurlewEventLoop
    let bufferSize = 1 << 20
    let nonce: String? = nil
    let canEndOutput = true

    /// Bytes that the client reads.
    var input: [UInt8] = []
    /// The bytes that are repeated without end after ``input`` is empty.
    var endlessInput: [UInt8] = []
    /// True while the received bytes are hidden from the client.
    var isHidden = false
    /// True if the peer has ended its side after its bytes.
    var isEnded = false
    /// The error that ends reading after the bytes.
    var readError: CurlewError?
    var writeError: CurlewError?
    /// The number of bytes that are accepted before a write is blocked.
    var room = Int.max
    /// The maximum number of bytes that a write accepts.
    var writeLimit = Int.max
    /// The number of bytes that the client has read.
    private(set) var inputCount = 0
    private(set) var output: [UInt8] = []
    private(set) var outputCount = 0
    var keepsOutput = true
    private(set) var writes = 0
    private(set) var wantsOutput = false
    private(set) var isClosed = false
    private(set) var failure: CurlewError?
    private weak var user: (any UpgradedConnectionUser)?

    init(on loop: CurlewEventLoop) { self.loop = loop }

    func attach(_ user: any UpgradedConnectionUser) throws { self.user = user }

    func read(into space: UnsafeMutableRawBufferPointer) -> UpgradedInput {
        guard !isHidden else { return .nothing }
        if input.isEmpty { input = endlessInput }
        guard input.isEmpty else {
            let count = min(space.count, input.count)
            space.copyBytes(from: input[..<count])
            input.removeFirst(count)
            inputCount += count
            return .bytes(count)
        }
        if let readError { return .failed(readError) }
        return isEnded ? .end : .nothing
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> UpgradedOutput {
        writes += 1
        if let writeError { return .failed(writeError) }
        let count = min(bytes.count, room, writeLimit)
        guard count > 0 else { return .nothing }
        room -= count
        outputCount += count
        if keepsOutput { output += bytes[..<count] }
        return .bytes(count)
    }

    func watch(reading: Bool, writing: Bool) { wantsOutput = writing }
    func endOutput() {}
    func close() { isClosed = true }
    func cancel() {}

    func fail(_ error: CurlewError) {
        isClosed = true
        failure = error
        user?.connectionEnds(error)
    }

    /// Reports to the user that the socket is ready.
    func wake() { user?.connectionIsReady() }
}

/// A WebSocket over a ``ScriptedConnection``, on a separate loop.
struct ScriptedSocket {
    let connection: ScriptedConnection
    let socket: WebSocketConnection
    let loop: CurlewEventLoop

    init(_ options: CurlewWebSocket.Options = CurlewWebSocket.Options(pingInterval: nil)) async throws {
        let loop = try CurlewEventLoop(name: "curlew-test")
        let connection = ScriptedConnection(on: loop)
        self.loop = loop
        self.connection = connection
        socket = WebSocketConnection(connection, HandshakeAgreement(), options)
        try await socket.start()
    }

    /// Runs a closure on the loop.
    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (ScriptedConnection) -> Result) async -> Result {
        let connection = connection
        return await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: body(connection)) }
        }
    }

    /// The next part; nil at the end.
    func next() async throws -> CurlewWebSocket.Part? { try await socket.nextPart() }
}
