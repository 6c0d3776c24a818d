#if TestKit
internal import Curlew

/// A connection in memory, between a client on a loop and a server in a task of the test.
///
/// `@unchecked Sendable`: the user and its events are used only on the loop, and the bytes are in a ``Watched``.
final class StubConnection: UpgradedConnection, MockWebSocketChannel, @unchecked Sendable {
    private struct State: Sendable {
        var toClient: [UInt8] = []
        var toServer: [UInt8] = []
        var isServerDone = false
        var isClientDone = false
    }

    let loop: CurlewEventLoop
    let bufferSize: Int
    let nonce: String?
    let canEndOutput = true
    private let state = Watched(State())
    private weak var user: (any UpgradedConnectionUser)?
    private var wantsInput = false
    private var wantsOutput = false

    /// The maximum number of buffered bytes in each direction.
    private static let capacity = 64 << 10

    init(on loop: CurlewEventLoop, bufferSize: Int, nonce: String?) {
        self.loop = loop
        self.bufferSize = bufferSize
        self.nonce = nonce
    }

    // MARK: The server's end

    func read() async throws -> [UInt8]? {
        let bytes: [UInt8]? = try await self.state.take { state -> [UInt8]?? in
            guard state.toServer.isEmpty else {
                defer { state.toServer = [] }
                return .some(state.toServer)
            }
            return state.isClientDone ? .some(nil) : nil
        }
        self.wake()
        return bytes
    }

    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let left = rest
            let count = try await self.state.take { state -> Int? in
                guard !state.isClientDone else { return 0 }
                let count = min(left.count, Self.capacity - state.toClient.count)
                state.toClient += left.prefix(count)
                return count > 0 ? count : nil
            }
            guard count > 0 else { throw TestKitError("the client has closed the connection") }
            rest = rest.dropFirst(count)
            self.wake()
        }
    }

    /// Ends the server's side.
    func finish() {
        self.state.update { $0.isServerDone = true }
        self.wake()
    }

    // MARK: The client's end

    func attach(_ user: any UpgradedConnectionUser) throws { self.user = user }

    func read(into space: UnsafeMutableRawBufferPointer) -> UpgradedInput {
        let taken: [UInt8]? = self.state.update { state in
            guard !state.toClient.isEmpty else { return state.isServerDone ? nil : [] }
            let taken = Array(state.toClient.prefix(space.count))
            state.toClient.removeFirst(taken.count)
            return taken
        }
        guard let taken else { return .end }
        guard !taken.isEmpty else { return .nothing }
        space.copyBytes(from: taken)
        return .bytes(taken.count)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> UpgradedOutput {
        let copy = Array(bytes.prefix(Self.capacity))
        let count: Int? = self.state.update { state in
            guard !state.isServerDone else { return nil }
            let count = min(copy.count, Self.capacity - state.toServer.count)
            state.toServer += copy.prefix(count)
            return count
        }
        guard let count else { return .failed(CurlewError(.connectionLost, "the stub has closed the connection")) }
        return count > 0 || bytes.isEmpty ? .bytes(count) : .nothing
    }

    func watch(reading: Bool, writing: Bool) {
        self.wantsInput = reading
        self.wantsOutput = writing
        if reading || writing { self.wake() }
    }

    func endOutput() { self.end() }

    func close() { self.end() }

    func fail(_ error: CurlewError) {
        self.end()
        self.user?.connectionEnds(error)
    }

    func cancel() {
        self.loop.execute { [weak self] in self?.fail(CurlewError(.cancelled, "the task was cancelled")) }
    }

    private func end() { self.state.update { $0.isClientDone = true } }

    /// Informs the client's user of the events for which it waits.
    private func wake() {
        self.loop.execute { [weak self] in
            guard let self else { return }
            let (hasInput, hasRoom) = self.state.update { state in
                (
                    !state.toClient.isEmpty || state.isServerDone,
                    state.toServer.count < Self.capacity || state.isServerDone
                )
            }
            if self.wantsInput && hasInput || self.wantsOutput && hasRoom { self.user?.connectionIsReady() }
        }
    }
}
#endif
