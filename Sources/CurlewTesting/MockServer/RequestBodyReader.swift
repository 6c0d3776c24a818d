#if TestKit
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

typealias ServerPort = ChannelPort<HTTPServerRequestPart, HTTPServerResponsePart>

/// Receives the body of one request, even if its handler does not read, and passes it to the handler.
final class RequestBodyReader: Sendable {
    private struct State: Sendable {
        var held: CircularBuffer<ByteBuffer> = []
        var heldBytes = 0
        var end: Result<Void, any Error>?
        var awaitsContinue: Bool
        var isDiscarding = false
    }

    /// The number of bytes that are buffered for the handler.
    private static let heldLimit = 256 << 10

    private let port: ServerPort
    private let gate: FaultGate
    private let recorder: RequestRecorder
    private let state: Watched<State>

    init(port: ServerPort, gate: FaultGate, recorder: RequestRecorder, awaitsContinue: Bool) {
        self.port = port
        self.gate = gate
        self.recorder = recorder
        self.state = Watched(State(awaitsContinue: awaitsContinue))
    }

    /// Receives the body to its end; suspends while the handler is far behind. Must run once, beside the handler.
    func receive() async throws {
        do {
            while let buffer = try await self.nextPart() {
                try await self.gate.passRequestBody(self.recorder.note(buffer))
                try await self.hold(buffer)
            }
            self.state.update { $0.end = .success(()) }
        } catch {
            self.state.update { $0.end = .failure(error) }
            throw error
        }
    }

    /// Returns the next piece for the handler; `nil` at the end. Sends 100 first if the client waits for it.
    func next() async throws -> ByteBuffer? {
        if self.stopAwaitingContinue() {
            try await self.port.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
        }
        return try await self.state.take { state -> Result<ByteBuffer?, any Error>? in
            if let buffer = state.held.popFirst() {
                state.heldBytes -= buffer.readableBytes
                return .success(buffer)
            }
            return state.end.map { end in end.map { nil } }
        }.get()
    }

    /// Returns when the body has been received to its end.
    func ended() async throws { try await self.state.take(\.end).get() }

    /// Reads and discards the rest of the body.
    func readToEnd() async throws {
        while try await self.next() != nil {}
    }

    /// Discards the buffered bytes; later bytes are recorded and discarded.
    func discard() {
        self.state.update { state in
            state.isDiscarding = true
            state.held = []
            state.heldBytes = 0
        }
    }

    /// Disables the sending of 100; returns true if the client was waiting for it.
    @discardableResult
    func stopAwaitingContinue() -> Bool {
        self.state.update { state in
            defer { state.awaitsContinue = false }
            return state.awaitsContinue
        }
    }

    private func nextPart() async throws -> ByteBuffer? {
        switch try await self.port.next() {
        case .body(let buffer):
            return buffer
        case .end(let trailers):
            self.recorder.finish(trailers: trailers.map { HTTPFields($0) } ?? [:])
            return nil
        case .head, nil:
            self.recorder.record()
            throw TestKitError("the client went away inside a request")
        }
    }

    private func hold(_ buffer: ByteBuffer) async throws {
        try await self.state.take { state -> Void? in
            if state.isDiscarding { return () }
            guard state.heldBytes < Self.heldLimit else { return nil }
            state.held.append(buffer)
            state.heldBytes += buffer.readableBytes
            return ()
        }
    }
}
#endif
