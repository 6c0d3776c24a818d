internal import HTTPTypes
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1

typealias ServerPort = ChannelPort<HTTPServerRequestPart, HTTPServerResponsePart>

/// Reads the body of one request, sends 100 when it is awaited, and records what passes.
final class RequestBodyReader: Sendable {
    private struct State: Sendable {
        var record: RecordedRequest
        var awaitsContinue: Bool
        var isFinished = false
        var isRecorded = false
    }

    private static let chunkSizesLimit = 65_536

    private let port: ServerPort
    private let gate: FaultGate
    private let log: RequestLog
    private let bodyLimit: Int
    private let state: NIOLockedValueBox<State>

    init(
        port: ServerPort,
        gate: FaultGate,
        log: RequestLog,
        bodyLimit: Int,
        record: RecordedRequest,
        awaitsContinue: Bool
    ) {
        self.port = port
        self.gate = gate
        self.log = log
        self.bodyLimit = bodyLimit
        self.state = NIOLockedValueBox(State(record: record, awaitsContinue: awaitsContinue))
    }

    /// The next piece; `nil` at the end.
    func next(maySendContinue: Bool) async throws -> ByteBuffer? {
        if maySendContinue && self.stopAwaitingContinue() {
            try await self.port.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
        }
        guard !self.state.withLockedValue({ $0.isFinished }) else { return nil }
        switch try await self.port.next() {
        case .body(let buffer):
            try await self.gate.passRequestBody(self.record(buffer))
            return buffer
        case .end(let trailers):
            self.finish(trailers: trailers)
            return nil
        case .head, nil:
            self.giveUp()
            throw TestKitError("the client went away inside a request")
        }
    }

    /// Reads to the end without asking for it.
    func drain() async throws {
        while try await self.next(maySendContinue: false) != nil {}
    }

    /// From now on no 100 is sent; returns whether one was awaited.
    @discardableResult
    func stopAwaitingContinue() -> Bool {
        self.state.withLockedValue { state in
            defer { state.awaitsContinue = false }
            return state.awaitsContinue
        }
    }

    /// Records the request as it is, if that has not been done.
    func giveUp() {
        let record = self.state.withLockedValue { state -> RecordedRequest? in
            state.isFinished = true
            guard !state.isRecorded else { return nil }
            state.isRecorded = true
            defer { state.record.body = [] }
            return state.record
        }
        if let record { self.log.append(record) }
    }

    /// Notes a piece; returns how many bytes have come so far.
    private func record(_ buffer: ByteBuffer) -> Int {
        self.state.withLockedValue { state in
            let room = self.bodyLimit - state.record.body.count
            if room > 0 { state.record.body.append(contentsOf: buffer.readableBytesView.prefix(room)) }
            state.record.bodyLength += buffer.readableBytes
            state.record.chunkCount += 1
            if state.record.chunkSizes.count < Self.chunkSizesLimit {
                state.record.chunkSizes.append(buffer.readableBytes)
            }
            return state.record.bodyLength
        }
    }

    private func finish(trailers: HTTPHeaders?) {
        self.state.withLockedValue { state in
            state.record.trailers = trailers.map { .init($0) } ?? [:]
            state.record.isComplete = true
        }
        self.giveUp()
    }
}
