internal import Curlew
internal import HTTPTypes

extension Operation {
    /// Follows a stream of server-sent events and answers with a line for each event, until the source is closed or the
    /// order aborted. An abort is not an event, so it is not reported here.
    static let events = Operation(
        name: "sse",
        rules: [.session] + FieldRule.message + FieldRule.content + FieldRule.carriage + FieldRule.policy
            + [.word("cache", always: "default", "no-store")] + FieldRule.security
    ) { order, probe in
        guard order.url != nil else { throw LineProblem.unusable("url is missing") }
        probe.enter(order)
        return { answering in
            let last = try await probe.leaving(order.session) {
                let session = try await order.chainedSession(of: probe)
                return try await order.follow(try order.eventSource(in: session), answering)
            }
            if let last { await answering.write(last) }
        }
    }
}

extension Order {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    fileprivate func eventSource(in session: HTTPSession) throws -> EventSource {
        let request = try request(in: session)
        var source = EventSource(session, request)
        // The source sets this field itself.
        if let identifier = request.fields[Self.lastEventID] { source.lastEventID = identifier }
        return source
    }

    /// Answers with the events.
    /// - Returns: The report of the end; nil after an abort.
    fileprivate func follow(
        _ source: EventSource, _ answering: Answering
    ) async throws -> [JSONValue.Member]? {
        for await event in source {
            if case .error(let error, _) = event, let problem = error.underlying as? LineProblem { throw problem }
            if case .error(_, isClosed: true) = event { return Self.members(event) }
            await answering.write(Self.members(event))
        }
        // A source that ended without an error is closed too.
        return Task.isCancelled ? nil : [.init("event", .string("error")), .init("closed", .bool(true))]
    }

    private static func members(_ event: EventSource.Event) -> [JSONValue.Member] {
        switch event {
        case .open: [.init("event", .string("open"))]
        case .message(let message):
            [
                .init("event", .string("message")), .init("type", .string(message.type)),
                .init("data", .string(message.data)), .init("lastEventId", .string(message.lastEventID)),
            ]
        case .error(_, let isClosed): [.init("event", .string("error")), .init("closed", .bool(isClosed))]
        }
    }
}
