import Curlew
import CurlewTesting
import HTTPTypes

extension EventSource.Event {
    /// The event as a word.
    var word: String {
        switch self {
        case .open: "open"
        case .message(let message): "\(message.type) \(message.data) \(message.lastEventID)"
        case .error(let error, let isClosed): "\(isClosed ? "closed" : "error") \(error.code)"
        }
    }
}

extension EventSource {
    /// The events as words, while another task iterates the source.
    func follow() -> (words: AsyncStream<String>, task: Task<Void, Never>) {
        let (words, report) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            for await event in self { report.yield(event.word) }
            report.finish()
        }
        return (words, task)
    }
}

extension MockServer {
    /// A source of the server's events.
    func eventSource(clock: TestClock = TestClock(), lastEventID: String = "") throws -> EventSource {
        try makeSession().eventSource(
            .raw(url()),
            reconnection: ServerSentEvent.ReconnectionPolicy(delay: .seconds(3), maximumDelay: .seconds(20)),
            lastEventID: lastEventID, clock: clock)
    }
}

extension MockResponse {
    /// A response that is a stream of events.
    static func events(_ text: String) -> MockResponse {
        MockResponse(fields: [.contentType: "text/event-stream; charset=utf-8"], body: .string(text))
    }
}
