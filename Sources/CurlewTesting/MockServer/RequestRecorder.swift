#if TestKit
internal import HTTPTypes
internal import NIOConcurrencyHelpers
internal import NIOCore

/// Records one request as it arrives, and appends it to the log once: when it is complete or aborted.
final class RequestRecorder: Sendable {
    private struct State: Sendable {
        var record: RecordedRequest
        var isRecorded = false
    }

    private let log: RequestLog
    private let chunks: ChunkLedger
    private let bodyLimit: Int
    private let state: NIOLockedValueBox<State>

    init(_ record: RecordedRequest, log: RequestLog, chunks: ChunkLedger, bodyLimit: Int) {
        self.log = log
        self.chunks = chunks
        self.bodyLimit = bodyLimit
        self.state = NIOLockedValueBox(State(record: record))
    }

    /// Records a piece of the body; returns the number of bytes so far.
    func note(_ buffer: ByteBuffer) -> Int {
        self.state.withLockedValue { state in
            let room = min(self.bodyLimit - state.record.body.count, buffer.readableBytes)
            if room > 0 {
                buffer.withUnsafeReadableBytes {
                    state.record.body.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0.prefix(room)))
                }
            }
            state.record.bodyLength += buffer.readableBytes
            return state.record.bodyLength
        }
    }

    /// Marks the request as complete and records it.
    func finish(trailers: HTTPFields) {
        self.state.withLockedValue { state in
            state.record.trailers = trailers
            state.record.isComplete = true
        }
        self.record()
    }

    /// Records the request in its present state, unless it has been recorded.
    func record() {
        let record = self.state.withLockedValue { state -> RecordedRequest? in
            guard !state.isRecorded else { return nil }
            state.isRecorded = true
            let chunks = self.chunks.take(exchange: state.record.exchangeIndex)
            state.record.chunkSizes = chunks.sizes
            state.record.chunkCount = chunks.count
            defer { state.record.body = [] }
            return state.record
        }
        if let record { self.log.append(record) }
    }
}
#endif
