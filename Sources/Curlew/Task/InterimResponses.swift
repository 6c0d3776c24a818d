internal import HTTPTypes

/// The interim responses (1xx) of a task, and those who listen to them.
struct InterimResponses {
    private(set) var all: [HTTPResponse] = []
    private var listeners: [AsyncStream<HTTPResponse>.Continuation] = []
    private var isFinished = false

    /// - Parameter received: All that have come, those included that are here already.
    mutating func update(to received: [HTTPResponse]) {
        guard received.count > all.count else { return }
        for response in received[all.count...] {
            all.append(response)
            listeners.forEach { $0.yield(response) }
        }
    }

    /// None is to come.
    mutating func finish() {
        guard !isFinished else { return }
        isFinished = true
        listeners.forEach { $0.finish() }
        listeners = []
    }

    /// Those that have come and those to come.
    mutating func stream() -> AsyncStream<HTTPResponse> {
        let (stream, continuation) = AsyncStream.makeStream(of: HTTPResponse.self)
        all.forEach { continuation.yield($0) }
        if isFinished { continuation.finish() } else { listeners.append(continuation) }
        return stream
    }
}
