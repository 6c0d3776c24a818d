internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// A response as an answer's members, its body read to the end or to where it broke.
struct ResponseAnswer {
    private let response: CurlewResponse
    private let body: [UInt8]
    private let error: CurlewError?
    private let metrics: TaskMetrics?

    init(_ response: CurlewResponse, of session: HTTPSession, _ order: Order) async {
        self.response = response
        let chunks = RecordedChunks(response.body)
        let limits = session.session?.configuration.limits ?? CurlewResponse.Limits()
        let limit = order.bodyLimit ?? limits.collectedBody
        do {
            let whole = CurlewResponse.Body.stream(chunks, length: response.body.length)
            body = try await whole.collect(upTo: limit)
            error = nil
        } catch {
            self.error = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
            body = Array(await chunks.record.bytes.prefix(limit.bytes))
            if let task = response.task { await Self.end(task) }
        }
        metrics = await response.task?.metrics
    }

    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("status", .integer(response.status.code)),
            .init("reason", .string(response.status.reasonPhrase)),
            .init("headers", Self.list(response.fields)),
            .init("body", .string(Data(body).base64EncodedString())),
            .init("url", .string("\(response.uri)")),
            .init("redirects", .integer(response.history.count)),
            .init("history", .array(response.history.map(Self.hop))),
            .init("http_version", .string(Self.number(response.version))),
        ]
        if let isReused = metrics?.last?.isReused { members.append(.init("reused", .bool(isReused))) }
        members.append(.init("trailers", Self.list(response.body.trailers)))
        members.append(.init("interim", .array(response.interim.map(Self.interim))))
        if let security = response.security { members.append(.init("tls", security.answer)) }
        if let metrics { members.append(.init("metrics", metrics.answer(sentBefore: response.attempts - 1))) }
        if let error {
            members.append(.init("body_error", .string(error.message)))
            members.append(.init("code", .string(error.code.rawValue)))
        }
        return members
    }

    /// Ends a transfer that may go on though its reader has had enough, and waits for it. The waiting is a task of its own:
    /// it has to go on though the request was aborted.
    private static func end(_ task: TaskActor) async {
        task.cancel()
        await Task { for await _ in task.progress {} }.value
    }

    private static func hop(_ hop: CurlewResponse.Redirect) -> JSONValue {
        .array([.integer(hop.status.code), .string("\(hop.uri)")])
    }

    private static func interim(_ head: HTTPResponse) -> JSONValue {
        .array([.integer(head.status.code), list(head.headerFields)])
    }

    private static func list(_ fields: HTTPFields) -> JSONValue {
        .array(
            fields.map { field in
                .array([.string(field.name.rawName), field.withUnsafeBytesOfValue { .byteString($0) }])
            })
    }

    private static func number(_ version: HTTPProtocolVersion) -> String {
        version == .http2 ? "2" : "\(version.major).\(version.minor)"
    }
}
