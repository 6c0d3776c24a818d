#if TestKit
/// A queue of values; the oldest are evicted when there are too many.
final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var waiting: [Element] = []
        var isFinished = false
    }

    private let state = Watched(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func append(_ element: Element) {
        self.state.update { state in
            state.waiting.append(element)
            if state.waiting.count > self.limit { state.waiting.removeFirst() }
        }
    }

    func finish() {
        self.state.update { $0.isFinished = true }
    }

    func take() async -> Element? {
        let taken = try? await self.state.take { state -> Element?? in
            guard state.waiting.isEmpty else { return .some(state.waiting.removeFirst()) }
            return state.isFinished ? .some(nil) : nil
        }
        return taken ?? nil
    }
}
#endif
