internal import Curlew
internal import HTTPTypes

/// The serializer that makes an answer of a response. The body is read to its end or to where it broke, by the serializer
/// that the order names if there is one.
struct AnswerSerializer: ResponseSerializer {
    /// The serializer that makes the value.
    let base: (any ResponseSerializer<JSONValue>)?
    let bodyLimit: ByteSize

    init(_ order: Order, of session: HTTPSession) {
        let limits = session.session?.configuration.limits ?? CurlewResponse.Limits()
        bodyLimit = order.bodyLimit ?? limits.collectedBody
        base = order.reading.serializer(upTo: bodyLimit)
    }

    var acceptField: String? { base?.acceptField }

    func serialize(_ response: CurlewResponse) async throws -> ResponseAnswer {
        let chunks = RecordedChunks(response.body)
        var recorded = response
        recorded.body = .stream(chunks, length: response.body.length)
        var answer = ResponseAnswer(response: response)
        do {
            if let base {
                answer.value = try await base.serialize(recorded)
            } else {
                _ = try await recorded.body.collect(upTo: bodyLimit)
            }
        } catch {
            let error = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
            let hasBroken = await chunks.record.failure != nil
            answer.take(error, isFromSerializer: base != nil, isBodyBroken: base == nil || hasBroken)
            if let task = response.task, await !chunks.record.isWhole { await Self.end(task) }
        }
        answer.body = Array(await chunks.record.bytes.prefix(bodyLimit.bytes))
        answer.metrics = await response.task?.metrics
        return answer
    }

    /// Ends a transfer that may go on though its reader has had enough, and waits for it. The waiting is a task of its own:
    /// it has to go on though the request was aborted.
    private static func end(_ task: TaskActor) async {
        task.cancel()
        await Task { for await _ in task.progress {} }.value
    }
}

/// A response as an answer's members.
struct ResponseAnswer {
    fileprivate let response: CurlewResponse
    fileprivate var body: [UInt8] = []
    fileprivate var metrics: TaskMetrics?
    /// What the serializer brought, of a status that it does not accept too.
    fileprivate var value: JSONValue?
    /// Why the serializer brought nothing.
    private var error: CurlewError?
    /// What broke the body off.
    private var bodyError: CurlewError?
    /// The bytes of the request's body that were sent, of how many, whenever that changed.
    var progress: [JSONValue]?

    fileprivate init(response: CurlewResponse) { self.response = response }

    fileprivate mutating func take(_ error: CurlewError, isFromSerializer: Bool, isBodyBroken: Bool) {
        if isBodyBroken { bodyError = error }
        guard isFromSerializer else { return }
        // A body that holds nothing is no error of the protocol.
        if error.code == .emptyBody, !isBodyBroken {
            value = .null
        } else {
            self.error = error
            value = error.parsedBody.flatMap { JSONValue(parsedBody: $0) }
        }
    }

    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("status", .integer(response.status.code)),
            .init("reason", .string(response.status.reasonPhrase)),
            .init("headers", .list(response.fields)),
            .init("body", .base64(body)),
            .init("url", .string("\(response.uri)")),
            .init("redirects", .integer(response.history.count)),
            .init("history", .array(response.history.map(JSONValue.hop))),
            .init("http_version", .string(Self.number(response.version))),
        ]
        if let isReused = metrics?.last?.isReused { members.append(.init("reused", .bool(isReused))) }
        members.append(.init("trailers", .list(response.body.trailers)))
        members.append(.init("interim", .array(response.interim.map(Self.interim))))
        if let security = response.security { members.append(.init("tls", security.answer)) }
        // Who shares a response that is under way has not found it in the cache.
        if let status = response.cacheStatus.map({ $0 == .coalesced ? .miss : $0 }) {
            members.append(.init("cache_status", .string(status.rawValue)))
        }
        if let metrics { members.append(.init("metrics", metrics.answer(sentBefore: response.attempts - 1))) }
        if let progress { members.append(.init("progress", .array(progress))) }
        if let value { members.append(.init("value", value)) }
        if let bodyError { members.append(.init("body_error", .string(bodyError.message))) }
        if let error { members.append(.init("error", .string(error.message))) }
        if let error = error ?? bodyError { members.append(.init("code", .string(error.code.rawValue))) }
        return members
    }

    private static func interim(_ head: HTTPResponse) -> JSONValue {
        .array([.integer(head.status.code), .list(head.headerFields)])
    }

    private static func number(_ version: HTTPProtocolVersion) -> String {
        version == .http2 ? "2" : "\(version.major).\(version.minor)"
    }
}

extension JSONValue {
    /// A redirect that was followed.
    static func hop(_ hop: CurlewResponse.Redirect) -> JSONValue {
        .array([.integer(hop.status.code), .string("\(hop.uri)")])
    }

    /// Fields with their names as they came.
    static func list(_ fields: HTTPFields) -> JSONValue {
        .array(
            fields.map { field in
                .array([.string(field.name.rawName), field.withUnsafeBytesOfValue { .byteString($0) }])
            })
    }
}
