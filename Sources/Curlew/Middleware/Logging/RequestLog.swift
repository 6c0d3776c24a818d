internal import HTTPTypes
internal import Logging

/// The lines of one call. It goes along with the request, so that the links further in write theirs with the same identifier.
final class RequestLog: Sendable {
    let identifier: String
    private let link: RequestLogging
    private let logger: Logger

    init(_ link: RequestLogging, _ logger: Logger, identifier: String) {
        self.link = link
        self.identifier = identifier
        var logger = logger
        logger[metadataKey: "request_id"] = .string(identifier)
        self.logger = logger
    }

    static func randomIdentifier() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    func began(_ request: Request) {
        logger.log(level: link.levels.request, "request", metadata: begin(request))
    }

    func ended(_ request: Request, _ response: Response, after duration: Duration) {
        logger.log(level: link.levels.response, "response", metadata: end(request, response, duration))
    }

    func failed(_ request: Request, _ error: any Error, after duration: Duration) {
        logger.log(level: link.levels.failure, "request failed", metadata: failure(request, error, duration))
    }

    func redirected(_ status: HTTPResponse.Status, to request: Request, number: Int) {
        logger.log(
            level: link.levels.repetition, "redirected",
            metadata: about(request).merging(["status": "\(status.code)", "redirect": "\(number)"]) { $1 })
    }

    func retrying(
        _ request: Request, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration, _ attempt: Int
    ) {
        logger.log(
            level: link.levels.repetition, "sending again",
            metadata: again(request, status, code, after: wait, attempt))
    }

    func hedging(_ request: Request, attempt: Int) {
        logger.log(
            level: link.levels.repetition, "hedging",
            metadata: about(request).merging(["attempt": "\(attempt)"]) { $1 })
    }

    // MARK: What the lines hold

    private func about(_ request: Request) -> Logger.Metadata {
        ["method": .string(request.method.rawValue), "uri": .string(text(of: request.uri))]
    }

    private func begin(_ request: Request) -> Logger.Metadata {
        var metadata = about(request)
        metadata["fields"] = fields(request.fields, of: request)
        return metadata
    }

    private func end(_ request: Request, _ response: Response, _ duration: Duration) -> Logger.Metadata {
        var metadata = about(request)
        metadata["status"] = "\(response.status.code)"
        metadata["version"] = "\(response.version)"
        metadata["milliseconds"] = milliseconds(duration)
        if let length = response.body.length { metadata["length"] = "\(length)" }
        if response.attempts > 1 { metadata["attempts"] = "\(response.attempts)" }
        if !response.history.isEmpty {
            metadata["redirects"] = "\(response.history.count)"
            metadata["final_uri"] = .string(text(of: response.uri))
        }
        metadata["fields"] = fields(response.fields, of: request)
        return metadata
    }

    private func failure(_ request: Request, _ error: any Error, _ duration: Duration) -> Logger.Metadata {
        var metadata = about(request)
        metadata["milliseconds"] = milliseconds(duration)
        guard let error = error as? CurlewError else {
            // A foreign error may quote what it should not.
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

    private func again(
        _ request: Request, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration, _ attempt: Int
    ) -> Logger.Metadata {
        var metadata = about(request)
        if let status { metadata["status"] = "\(status.code)" }
        if let code { metadata["error"] = "\(code)" }
        metadata["wait_milliseconds"] = milliseconds(wait)
        metadata["attempt"] = "\(attempt)"
        return metadata
    }

    /// Without user information, which no URI's text has, and without the fragment, which is not sent.
    private func text(of uri: URI) -> String {
        let text = uri.requestText
        guard link.masksQueries, let mark = text.firstIndex(of: "?") else { return text }
        return text[...mark] + "***"
    }

    private func fields(_ fields: HTTPFields, of request: Request) -> Logger.Metadata.Value? {
        guard logger.logLevel <= link.levels.fields else { return nil }
        let marked = link.secretFields.union(request.options.secretFields)
        return .array(
            fields.map { field in
                let value = SecretFields.masked(field, marked: marked)
                return .string("\(field.name.rawName): \(value)".replacingControlCharacters)
            })
    }

    private func milliseconds(_ duration: Duration) -> Logger.Metadata.Value {
        let microseconds = duration.nanosecondsClamped / 1000
        return "\(Double(microseconds) / 1000)"
    }
}

extension RequestOptions {
    private enum LogKey: Key { static let defaultValue: RequestLog? = nil }

    /// The log that the links write into; ``RequestLogging`` sets it.
    var log: RequestLog? {
        get { self[LogKey.self] }
        set { self[LogKey.self] = newValue }
    }
}
