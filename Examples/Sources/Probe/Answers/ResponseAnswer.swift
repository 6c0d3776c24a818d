internal import Curlew
internal import HTTPTypes

/// The serializer that creates an answer from a response. The body is read to its end or its failure, by the order's
/// serializer if there is one.
struct AnswerSerializer: ResponseSerializer {
    /// The serializer of the value.
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

    /// Ends a transfer that its reader has left, and waits for its end. The wait is a separate task, because it must
    /// continue after an abort of the request.
    private static func end(_ task: TaskActor) async {
        task.cancel()
        await Task { for await _ in task.progress {} }.value
    }
}

/// A response as the members of an answer.
struct ResponseAnswer {
    fileprivate let response: CurlewResponse
    fileprivate var body: [UInt8] = []
    fileprivate var metrics: TaskMetrics?
    /// The value of the serializer, for an unacceptable status too.
    fileprivate var value: JSONValue?
    /// The error of the serializer.
    private var error: CurlewError?
    /// The error that ended the body.
    private var bodyError: CurlewError?
    /// The sent bytes of the request's body and their total, at every change.
    var progress: [JSONValue]?

    fileprivate init(response: CurlewResponse) { self.response = response }

    fileprivate mutating func take(_ error: CurlewError, isFromSerializer: Bool, isBodyBroken: Bool) {
        if isBodyBroken { bodyError = error }
        guard isFromSerializer else { return }
        // An empty body is not an error of the protocol.
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
        // A coalesced response was not found in the cache, so it counts as a miss.
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
        version.major >= 2 ? "\(version.major)" : "\(version.major).\(version.minor)"
    }
}

extension JSONValue {
    /// A followed redirect.
    static func hop(_ hop: CurlewResponse.Redirect) -> JSONValue {
        .array([.integer(hop.status.code), .string("\(hop.uri)")])
    }

    /// Fields with their names in the received case.
    static func list(_ fields: HTTPFields) -> JSONValue {
        .array(
            fields.map { field in
                .array([.string(field.name.rawName), field.withUnsafeBytesOfValue { .byteString($0) }])
            })
    }
}
