#if TestKit
internal import Curlew
internal import NIOConcurrencyHelpers

/// An exchange of a recording, with its position there.
struct RecordedAnswer: Sendable {
    let exchange: Recording.Exchange
    /// The position: `birds.json, exchanges[2]`.
    let place: String

    /// The position and the request: `birds.json, exchanges[2], GET https://api.example.com/birds`.
    var name: String { "\(self.place), \(self.exchange.request.line)" }
}

/// The exchanges of a ``ReplayTransport`` and the requests that it received.
final class ReplayCore: Sendable {
    private struct State: Sendable {
        var requests = 0
        var used: Set<Int> = []
        var refused: [String] = []
    }

    /// The maximum number of rejected requests that are kept for ``complaints``.
    private static let refusedLimit = 100

    private let state = NIOLockedValueBox(State())
    private let exchanges: [Recording.Exchange]
    private let name: String
    private let mode: ReplayTransport.Mode
    private let matching: ReplayTransport.Matching

    init(
        _ recording: Recording, name: String, mode: ReplayTransport.Mode, matching: ReplayTransport.Matching
    ) {
        self.exchanges = recording.exchanges
        self.name = name
        self.mode = mode
        self.matching = matching
    }

    /// Claims the exchange that answers a request.
    ///
    /// - Throws: `CurlewError` that names the differences between the request and the recorded one.
    func claim(for request: Recording.Request) throws -> RecordedAnswer {
        try self.state.withLockedValue { state in
            state.requests += 1
            let found =
                switch self.mode.kind {
                case .strict: self.next(for: request, state)
                case .loose: self.any(for: request, state)
                }
            switch found {
            case .success(let index):
                state.used.insert(index)
                return self.answer(index)
            case .failure(let mismatch):
                let text = "request \(state.requests), \(request.line), \(mismatch.description)"
                if state.refused.count < Self.refusedLimit { state.refused.append(text) }
                throw CurlewError(.unexpectedRequest, text)
            }
        }
    }

    private func answer(_ index: Int) -> RecordedAnswer {
        RecordedAnswer(exchange: self.exchanges[index], place: "\(self.name), exchanges[\(index)]")
    }

    /// The next exchange, if the request matches it.
    private func next(for request: Recording.Request, _ state: State) -> Result<Int, TestKitError> {
        // Each exchange is used once and in order, so the number of used exchanges is the next index.
        let index = state.used.count
        guard index < self.exchanges.count else {
            return .failure(TestKitError("is one more than \(self.name) has, which are \(self.exchanges.count)"))
        }
        let differences = self.matching.differences(between: self.exchanges[index].request, and: request)
        if differences.isEmpty { return .success(index) }
        return .failure(
            TestKitError("is not the recorded one (\(self.answer(index).name)): \(differences.joined(separator: "; "))")
        )
    }

    /// The next exchange among those that the request matches.
    private func any(for request: Recording.Request, _ state: State) -> Result<Int, TestKitError> {
        let differences = self.exchanges.map { self.matching.differences(between: $0.request, and: request) }
        let matches = differences.indices.filter { differences[$0].isEmpty }
        if let index = matches.first(where: { !state.used.contains($0) }) ?? matches.last { return .success(index) }
        guard let nearest = differences.indices.min(by: { differences[$0].count < differences[$1].count }) else {
            return .failure(TestKitError("was not recorded: \(self.name) is empty"))
        }
        return .failure(
            TestKitError(
                "was not recorded; the nearest is \(self.answer(nearest).name): "
                    + differences[nearest].joined(separator: "; ")))
    }

    /// The exchanges that have answered no request.
    var unused: [RecordedAnswer] {
        let used = self.state.withLockedValue { $0.used }
        return self.exchanges.indices.filter { !used.contains($0) }.map { self.answer($0) }
    }

    /// The messages of ``ReplayTransport/verify()``.
    var complaints: [String] {
        let unused = self.mode == .strict ? self.unused : []
        return unused.map { "\($0.name), was not used" } + self.state.withLockedValue { $0.refused }
    }
}

extension Recording.Request {
    /// The method and the URL: `GET https://api.example.com/birds`.
    var line: String { "\(self.method) \(self.url)" }
}
#endif
