#if TestKit
/// The recorded requests that a test has not taken yet, within the bounds of the configuration.
final class RequestLog: Sendable {
    private struct State: Sendable {
        var waiting: [RecordedRequest] = []
        var bytes = 0
        var total = 0
        var isFinished = false
    }

    private let state = Watched(State())
    private let countLimit: Int
    private let bytesLimit: Int

    init(countLimit: Int, bytesLimit: Int) {
        self.countLimit = max(1, countLimit)
        self.bytesLimit = bytesLimit
    }

    /// The total number of recorded requests.
    var total: Int { self.state.update { $0.total } }

    func append(_ request: RecordedRequest) {
        self.state.update { state in
            state.total += 1
            state.waiting.append(request)
            state.bytes += request.body.count
            while state.waiting.count > self.countLimit || (state.bytes > self.bytesLimit && state.waiting.count > 1) {
                state.bytes -= state.waiting.removeFirst().body.count
            }
        }
    }

    func finish() {
        self.state.update { $0.isFinished = true }
    }

    /// Removes the oldest request and waits for one; returns `nil` when the server has ended or the task is cancelled.
    func take() async -> RecordedRequest? {
        let taken = try? await self.state.take { state -> RecordedRequest?? in
            guard !state.waiting.isEmpty else { return state.isFinished ? .some(nil) : nil }
            let request = state.waiting.removeFirst()
            state.bytes -= request.body.count
            return .some(request)
        }
        return taken ?? nil
    }

    func waitForTotal(_ count: Int) async throws {
        try await self.state.take { $0.total >= count ? () : nil }
    }
}
#endif
