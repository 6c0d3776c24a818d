internal import HTTPTypes

/// The interim responses (1xx) of a task, and their listeners.
struct InterimResponses {
    private(set) var all: [HTTPResponse] = []
    private var listeners: [AsyncStream<HTTPResponse>.Continuation] = []
    private var isFinished = false

    /// - Parameter received: All responses so far, including those that are stored already.
    mutating func update(to received: [HTTPResponse]) {
        guard received.count > all.count else { return }
        for response in received[all.count...] {
            all.append(response)
            listeners.forEach { $0.yield(response) }
        }
    }

    /// Ends the streams: no further response will follow.
    mutating func finish() {
        guard !isFinished else { return }
        isFinished = true
        listeners.forEach { $0.finish() }
        listeners = []
    }

    /// The responses so far, and later ones.
    mutating func stream() -> AsyncStream<HTTPResponse> {
        let (stream, continuation) = AsyncStream.makeStream(of: HTTPResponse.self)
        all.forEach { continuation.yield($0) }
        if isFinished { continuation.finish() } else { listeners.append(continuation) }
        return stream
    }
}
