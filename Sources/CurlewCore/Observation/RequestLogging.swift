public import HTTPTypes
public import Logging

/// Logs requests, responses and failures through swift-log, at level debug.
///
/// The link writes to `Logger.current` unless it has a logger of its own. `Logger.current` is the logger that
/// `withLogger` binds to the caller's task. So each line has the caller's metadata, such as the identifier of an
/// incoming request.
///
/// Without a bound logger, `Logger.current` is the one that `LoggingSystem` creates for the empty label on first use.
/// Unless the program has bootstrapped another, it writes to standard error from level `info` on, so it writes none of
/// these lines. If the logger wants none of the lines, a call only costs a check of its level.
///
/// The levels follow swift-log's advice for libraries. The caller logs a thrown failure or a response with the meaning
/// that it has for the program. Repetitions are counted in ``CurlewResponse/attempts`` and ``CurlewError/attempts``.
///
/// Every line has `call.id`, method and URI in its metadata. As the first link it writes a line when a call begins, one
/// for each redirect of ``Redirects``, retry of ``Retry`` and hedge of ``Hedging``, and one at the end. All lines have
/// the same identifier; the duration ends with the head of the response. A second link of this type, after `Retry`,
/// writes a pair of lines for each sent request, with the same identifier.
///
/// Bodies and user information are never written, nor are the values of secret fields. These are Authorization,
/// Proxy-Authorization, Cookie, Set-Cookie, other fields known as secret, and the fields that ``secretFields`` or
/// ``RequestOptions/secretFields`` name. Fields are written at ``Levels/fields`` alone. `***` replaces a query, also in
/// Location, Content-Location, Referer, Refresh and Link, unless ``RequestOptions/showsQueries`` is set.
///
/// The link does not log the duration and the end of a body: ``SessionActor/events`` reports them.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestLogging()
/// }
/// try await withLogger(mergingMetadata: ["request.id": "\(id)"]) { _ in
///     try await api.get("birds")          // its lines have request.id
/// }
/// ```
public struct RequestLogging: CurlewMiddleware {
    /// The level of each kind of line.
    public struct Levels: Sendable, Hashable {
        /// The level of the line for the beginning of a request. `debug` by default.
        public var request: Logger.Level
        /// The level of the line for a response. `debug` by default.
        public var response: Logger.Level
        /// The level of the lines for redirects, retries and hedges. `debug` by default.
        public var repetition: Logger.Level
        /// The level of the line for a failure. `debug` by default, as the error is thrown to the caller.
        public var failure: Logger.Level
        /// The level of the logger from which on the lines contain the fields of requests and responses. `trace` by
        /// default.
        public var fields: Logger.Level

        public init(
            request: Logger.Level = .debug, response: Logger.Level = .debug, repetition: Logger.Level = .debug,
            failure: Logger.Level = .debug, fields: Logger.Level = .trace
        ) {
            self.request = request
            self.response = response
            self.repetition = repetition
            self.failure = failure
            self.fields = fields
        }
    }

    /// The logger. nil, the default, selects `Logger.current` of the calling task.
    public var logger: Logger?
    /// The level of each kind of line.
    public var levels: Levels
    /// The names of further secret fields, beside the known ones and those that a request marks.
    public var secretFields: Set<HTTPField.Name> = []
    /// Creates the identifier of a call: 16 random hexadecimal digits by default.
    public var makeIdentifier: @Sendable (CurlewRequest) -> String = { _ in RequestLog.randomIdentifier() }

    /// - Parameters:
    ///   - logger: The logger; nil selects `Logger.current`.
    ///   - levels: The level of each kind of line.
    public init(_ logger: Logger? = nil, levels: Levels = Levels()) {
        self.logger = logger
        self.levels = levels
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let logger = logger ?? .current
        guard writes(to: logger) else { return try await next(request) }
        return try await logged(request, logger, next)
    }

    /// True if the current logger, or the link's own, wants any of the lines.
    var isWanted: Bool { writes(to: logger ?? .current) }

    private func writes(to logger: Logger) -> Bool { logger.logLevel <= levels.highest }

    private func logged(
        _ original: CurlewRequest, _ logger: Logger, _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var request = original
        let outer = original.log
        let log = RequestLog(self, logger, identifier: outer?.identifier ?? makeIdentifier(original))
        ListenedCall.add(log, CallEvent.Kinds(.redirected, .retrying, .hedging), to: &request, replacing: outer)
        log.began(request)
        let start = ContinuousClock.now
        do {
            let response = try await next(request)
            log.ended(request, response, after: start.duration(to: .now))
            return response
        } catch {
            log.failed(request, error, after: start.duration(to: .now))
            throw error
        }
    }
}

extension RequestLogging.Levels {
    /// The highest of the levels for lines.
    fileprivate var highest: Logger.Level { max(request, response, repetition, failure) }
}

/// The lines of one call. It travels with the request, so that inner links use the same identifier.
final class RequestLog: CallListener {
    let identifier: String
    private let link: RequestLogging
    private let logger: Logger

    init(_ link: RequestLogging, _ logger: Logger, identifier: String) {
        self.link = link
        self.identifier = identifier
        var logger = logger
        logger[metadataKey: "call.id"] = .string(identifier)
        self.logger = logger
    }

    fileprivate static func randomIdentifier() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    func began(_ request: CurlewRequest) {
        logger.log(level: link.levels.request, "request", metadata: begin(request))
    }

    func ended(_ request: CurlewRequest, _ response: CurlewResponse, after duration: Duration) {
        logger.log(level: link.levels.response, "response", metadata: end(request, response, duration))
    }

    func failed(_ request: CurlewRequest, _ error: any Error, after duration: Duration) {
        logger.log(level: link.levels.failure, "request failed", metadata: failure(request, error, duration))
    }

    func receive(_ event: CallEvent) {
        switch event.kind {
        case .redirected: logger.log(level: link.levels.repetition, "redirected", metadata: redirect(event))
        case .retrying: logger.log(level: link.levels.repetition, "sending again", metadata: retry(event))
        case .hedging: logger.log(level: link.levels.repetition, "hedging", metadata: hedge(event))
        default: break
        }
    }

    // MARK: Metadata

    private func about(_ request: CurlewRequest) -> Logger.Metadata {
        [
            "method": .string(request.method.rawValue),
            "uri": .string(request.uri.loggedText(showsQuery: request.options.showsQueries)),
        ]
    }

    private func begin(_ request: CurlewRequest) -> Logger.Metadata {
        var metadata = about(request)
        metadata["fields"] = fields(request.fields, of: request)
        return metadata
    }

    private func end(_ request: CurlewRequest, _ response: CurlewResponse, _ duration: Duration) -> Logger.Metadata {
        var metadata = about(request)
        metadata["status"] = "\(response.status.code)"
        metadata["version"] = "\(response.version)"
        metadata["milliseconds"] = milliseconds(duration)
        if let length = response.body.length { metadata["length"] = "\(length)" }
        if response.attempts > 1 { metadata["attempts"] = "\(response.attempts)" }
        if !response.history.isEmpty {
            metadata["redirects"] = "\(response.history.count)"
            metadata["final_uri"] = .string(
                response.uri.loggedText(showsQuery: request.options.showsQueries))
        }
        metadata["fields"] = fields(response.fields, of: request)
        return metadata
    }

    private func failure(_ request: CurlewRequest, _ error: any Error, _ duration: Duration) -> Logger.Metadata {
        var metadata = about(request)
        metadata["milliseconds"] = milliseconds(duration)
        guard let error = error as? CurlewError else {
            // An error of another library may contain secrets, so only its type is logged.
            metadata["error"] = "\(type(of: error))"
            return metadata
        }
        metadata["error"] = "\(error.code)"
        metadata["message"] = .string(error.message)
        metadata["stage"] = "\(error.stage.rawValue)"
        if let status = error.response?.status { metadata["status"] = "\(status.code)" }
        if error.attempts > 1 { metadata["attempts"] = "\(error.attempts)" }
        if !error.history.isEmpty { metadata["redirects"] = "\(error.history.count)" }
        return metadata
    }

    private func redirect(_ event: CallEvent) -> Logger.Metadata {
        var metadata = about(event.request)
        if let status = event.status { metadata["status"] = "\(status.code)" }
        metadata["redirect"] = "\(event.number)"
        return metadata
    }

    private func retry(_ event: CallEvent) -> Logger.Metadata {
        var metadata = about(event.request)
        if let status = event.status { metadata["status"] = "\(status.code)" }
        if let code = event.errorCode { metadata["error"] = "\(code)" }
        if let wait = event.wait { metadata["wait_milliseconds"] = milliseconds(wait) }
        metadata["attempt"] = "\(event.number)"
        return metadata
    }

    private func hedge(_ event: CallEvent) -> Logger.Metadata {
        var metadata = about(event.request)
        metadata["attempt"] = "\(event.number)"
        return metadata
    }

    private func fields(_ fields: HTTPFields, of request: CurlewRequest) -> Logger.Metadata.Value? {
        guard logger.logLevel <= link.levels.fields else { return nil }
        let marked = link.secretFields.union(request.options.secretFields)
        return .array(
            fields.map { field in
                var value = SecretFields.masked(field, marked: marked)
                if !request.options.showsQueries, field.name.holdsReferences {
                    value = SecretFields.withoutQueries(value)
                }
                return .string("\(field.name.rawName): \(value)".replacingControlCharacters)
            })
    }

    private func milliseconds(_ duration: Duration) -> Logger.Metadata.Value {
        let microseconds = duration.nanosecondsClamped / 1000
        return "\(Double(microseconds) / 1000)"
    }
}

extension CurlewRequest {
    /// The log of the call.
    var log: RequestLog? {
        for case let log as RequestLog in (reporter as? ListenedCall)?.listeners ?? [] { return log }
        return nil
    }
}
