public import HTTPTypes
public import Logging

/// Writes what becomes of requests to a logger of swift-log. Without a logger nothing is written.
///
/// Every line has `request_id`, method and URI in its metadata. As the first link it writes a line when a call begins, one
/// for each redirect that ``Redirects`` follows, each repetition by ``Retry`` and each hedge by ``Hedging``, and one at the
/// end, all with the same identifier; the duration is that to the head of the response. A second one further in, after `Retry`, writes a pair of
/// lines for each request that goes out, with the identifier of the first.
///
/// Bodies are never written, nor user information, nor the values of fields with secrets: Authorization, Proxy-Authorization,
/// Cookie, Set-Cookie, others known to be secret, and those that ``secretFields`` or ``RequestOptions/secretFields`` name.
/// Fields are written at ``Levels/fields`` alone. A query is written as it is, unless ``masksQueries`` is set.
///
/// How long a body took, and how it ended, is not known here: ``SessionActor/events`` tells it.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestLogging(Logger(label: "api"))
/// }
/// ```
public struct RequestLogging: Middleware {
    /// Which line is written at which level.
    public struct Levels: Sendable, Hashable {
        /// That a request begins. `debug` by default.
        public var request: Logger.Level
        /// That its response has come. `info` by default.
        public var response: Logger.Level
        /// That a redirect is followed, or a request sent again or hedged. `info` by default.
        public var repetition: Logger.Level
        /// That it failed. `warning` by default.
        public var failure: Logger.Level
        /// From which level of the logger on the lines have the fields, those of requests and of responses. `trace` by
        /// default.
        public var fields: Logger.Level

        public init(
            request: Logger.Level = .debug, response: Logger.Level = .info, repetition: Logger.Level = .info,
            failure: Logger.Level = .warning, fields: Logger.Level = .trace
        ) {
            self.request = request
            self.response = response
            self.repetition = repetition
            self.failure = failure
            self.fields = fields
        }
    }

    /// What writes. Nothing is written without one.
    public var logger: Logger?
    /// Which line is written at which level.
    public var levels: Levels
    /// Whether `***` stands in the place of queries. False by default.
    public var masksQueries = false
    /// Fields with secrets, beside those known to be secret and those that a request marks.
    public var secretFields: Set<HTTPField.Name> = []
    /// Makes the identifier of a call: 16 random hexadecimal digits by default.
    public var makeIdentifier: @Sendable (Request) -> String = { _ in RequestLog.randomIdentifier() }

    public init(_ logger: Logger?, levels: Levels = Levels()) {
        self.logger = logger
        self.levels = levels
    }

    public func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        guard let logger, logger.logLevel <= levels.highest else { return try await next(request) }
        return try await logged(request, logger, next)
    }

    private func logged(
        _ original: Request, _ logger: Logger, _ next: Next<Request, Response>
    ) async throws -> Response {
        var request = original
        let identifier = original.options.log?.identifier ?? makeIdentifier(original)
        let log = RequestLog(self, logger, identifier: identifier)
        request.options.log = log
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
    /// The most important one.
    fileprivate var highest: Logger.Level { max(request, response, repetition, failure) }
}
