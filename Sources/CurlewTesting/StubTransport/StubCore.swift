#if TestKit
internal import Curlew

/// The answers of a ``StubTransport`` and the requests that it received. The core holds no reference to the transport,
/// so that streams of requests end when the transport is deinitialized.
final class StubCore: Sendable {
    enum Claim {
        case route(StubTransport.Handler)
        case queued(StubAnswer)
        case nothing
    }

    private struct State: Sendable {
        var queue: [StubAnswer] = []
        var routes: [StubRoute] = []
        var received: [StubRequest] = []
        var total = 0
        var refused: [String] = []
        var isFinished = false
    }

    private let state = Watched(State())
    private let recordLimit: Int

    init(recordLimit: Int) {
        self.recordLimit = recordLimit
    }

    func enqueue(_ answers: [StubAnswer]) {
        self.state.update { $0.queue += answers }
    }

    func add(_ route: StubRoute) {
        self.state.update { $0.routes.append(route) }
    }

    func finish() {
        self.state.update { $0.isFinished = true }
    }

    // MARK: Requests

    func record(_ request: CurlewRequest, body: [UInt8]) -> StubRequest {
        self.state.update { state in
            let seen = StubRequest(request: request, body: body, index: state.total)
            state.total += 1
            state.received.append(seen)
            if state.received.count > self.recordLimit { state.received.removeFirst() }
            return seen
        }
    }

    var received: [StubRequest] { self.state.update { $0.received } }

    func waitForTotal(_ count: Int) async throws {
        try await self.state.wait { $0.total >= count }
    }

    var requests: AsyncStream<StubRequest> {
        let next = Watched(0)
        return AsyncStream { [state] in
            let index = next.update { $0 }
            let request = try? await state.take { state -> StubRequest?? in
                if let found = state.received.first(where: { $0.index >= index }) { return .some(found) }
                return state.isFinished ? .some(nil) : nil
            }
            if let request { next.update { $0 = request.index + 1 } }
            return request
        }
    }

    // MARK: Answers

    /// Claims the answer to a request.
    func claim(for request: StubRequest) -> Claim {
        self.state.update { state in
            if let index = state.routes.firstIndex(where: { $0.matches(request) }) {
                state.routes[index].uses += 1
                return .route(state.routes[index].handler)
            }
            return state.queue.isEmpty ? .nothing : .queued(state.queue.removeFirst())
        }
    }

    /// Records that a request has no answer; returns the error message.
    func refuse(_ request: StubRequest) -> String {
        self.state.update { state in
            let name = "\(request.method) \(request.uri)"
            if state.refused.count < self.recordLimit { state.refused.append(name) }
            let routes = state.routes.map { $0.complaint == nil && $0.times != nil ? "\($0.name) (used up)" : $0.name }
            let known = routes.isEmpty ? "there are no routes" : "the routes are \(routes.joined(separator: ", "))"
            return "request \(request.index), \(name), has no answer: nothing is queued, and \(known)"
        }
    }

    /// The messages of ``StubTransport/verify()``.
    var complaints: [String] {
        self.state.update { state in
            let queued = state.queue.isEmpty ? [] : ["answers left in the queue: \(state.queue.count)"]
            return queued + state.routes.compactMap(\.complaint) + state.refused.map { "\($0) had no answer" }
        }
    }
}
#endif
