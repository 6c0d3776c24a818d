public import HTTPTypes

/// The responses that a serializer accepts, and the limits on their bodies.
///
/// These are the rules of AFNetworking's serializers without their gaps:
/// - The status must be among ``statuses``; otherwise the error is ``ErrorCode/unacceptableStatus``.
/// - A response with a body must have a media type among ``contentTypes``; otherwise the error is
///   ``ErrorCode/unacceptableContentType``. A missing Content-Type does not match. Without a body the type does not
///   matter.
/// - If both fail, the status is the error, and the type its underlying error. So a 502 with an HTML page is reported
///   as a 502.
public struct ResponseAcceptance: Sendable, Hashable {
    /// The acceptable statuses. 200 to 299 by default.
    public var statuses = ResponseAcceptance.Statuses.successful
    /// The acceptable media types.
    public var contentTypes: ResponseAcceptance.ContentTypes
    /// The limit on the size of an accepted body; a larger one is ``ErrorCode/responseTooLarge``. nil, the default,
    /// selects ``CurlewResponse/Limits/collectedBody`` of the session, or 64 MiB for a response without a session.
    public var bodyLimit: ByteSize?
    /// The limit on the size of the body of a response that is not accepted; it is kept in the error. 1 MiB by default.
    /// Of a larger body only the beginning is kept, in ``CurlewError/bodyPrefix``, and it is not parsed.
    public var errorBodyLimit: ByteSize = .mebibytes(1)

    /// Accepts 200 to 299 with these media types.
    public init(_ contentTypes: ResponseAcceptance.ContentTypes) { self.contentTypes = contentTypes }
}

extension ResponseAcceptance {
    /// The verdict on a response.
    enum Verdict {
        /// The response is accepted; its body is still unread.
        case accepted
        /// The response is accepted because it has no body, so that its type does not matter.
        case acceptedEmpty(CurlewResponse.Collected)
        case refused(RejectedResponse)
    }

    /// Judges a response. The body is read only if the head is not sufficient.
    /// - Parameter failureContent: The acceptable media types for an unacceptable status.
    func judge(_ response: CurlewResponse, failureContent: ResponseAcceptance.ContentTypes? = nil) async throws
        -> Verdict
    {
        let isStatusAccepted = statuses.contains(response.status)
        let content = isStatusAccepted ? contentTypes : failureContent ?? contentTypes
        let isTypeAccepted = content.accepts(response.mediaType)
        if isStatusAccepted, isTypeAccepted { return .accepted }
        let (bytes, readError) = await response.body.gather(upTo: errorBodyLimit)
        // A cancelled caller gets the cancellation and no other error.
        if let readError, CurlewError.isCancellation(readError) { throw readError }
        var collected = CurlewResponse.Collected(
            head: response.head, body: bytes, uri: response.uri, json: response.jsonCoding)
        collected.showsQuery = response.showsQuery
        if isStatusAccepted, bytes.isEmpty {
            if let readError { throw readError }
            return .acceptedEmpty(collected)
        }
        return .refused(
            RejectedResponse(
                response: collected, statuses: isStatusAccepted ? nil : statuses,
                content: isTypeAccepted || bytes.isEmpty ? nil : content, acceptable: content, readError: readError))
    }

    /// Reads the body of an accepted response.
    func collect(_ response: CurlewResponse) async throws -> CurlewResponse.Collected {
        do {
            let bytes = try await response.body.collect(upTo: bodyLimit ?? response.collectLimit)
            var collected = CurlewResponse.Collected(
                head: response.head, body: bytes, uri: response.uri, json: response.jsonCoding)
            collected.showsQuery = response.showsQuery
            return collected
        } catch let error as CurlewError {
            throw error.adding(
                CurlewError.Context(
                    uri: response.uri, stage: .receiving, response: response.head, showsQuery: response.showsQuery))
        }
    }

    /// The error for an accepted body that cannot be decoded.
    func decodingError(_ error: any Error, _ response: CurlewResponse.Collected, format: String) -> CurlewError {
        var context = CurlewError.Context(response, acceptable: contentTypes)
        if response.body.count <= errorBodyLimit.bytes { context.failure?.body = response.body }
        if let error = error as? CurlewError, error.code == .emptyBody || error.code == .unsupported {
            return error.adding(context)
        }
        // A closure of the caller may throw a cancellation of its own task.
        if Task.isCancelled, CurlewError.isCancellation(error) {
            return CurlewError(error as? CancellationError ?? CancellationError(), context: context)
        }
        let reason = (error as? DecodingError)?.reason.map { "\($0) (in \(format))" }
        let failure = CurlewError(
            .decodingFailed, reason ?? "the body cannot be read as \(format)", context: context, underlying: error)
        guard format == JSONFormat.name, !ResponseAcceptance.ContentTypes.json.accepts(response.mediaType) else {
            return failure
        }
        // The body was decoded whatever its type; another type is the likely reason.
        let type =
            response.mediaType.map { "the content type is \($0.essence.prefix(100))" } ?? "there is no content type"
        return CurlewError(
            .unacceptableContentType, "\(type), and the body cannot be read as JSON", context: context,
            underlying: failure)
    }
}

extension CurlewError.Context {
    /// The details of a response whose body was read.
    init(_ response: CurlewResponse.Collected, acceptable: ResponseAcceptance.ContentTypes) {
        self.init(
            uri: response.uri, stage: .receiving, response: response.head, showsQuery: response.showsQuery)
        bodyPrefix = Array(response.body.prefix(CurlewError.bodyPrefixLimit))
        failure = ResponseFailure(acceptable: acceptable, json: response.json)
    }
}

extension ResponseAcceptance {
    /// The acceptable statuses.
    public struct Statuses: Sendable, Hashable {
        /// The codes, as ranges.
        public let ranges: [ClosedRange<Int>]

        /// The codes within one of the ranges.
        public static func ranges(_ ranges: ClosedRange<Int>...) -> ResponseAcceptance.Statuses {
            ResponseAcceptance.Statuses(ranges: ranges)
        }

        /// The codes within one of the ranges, for a list that is computed at run time.
        public static func ranges(_ ranges: [ClosedRange<Int>]) -> ResponseAcceptance.Statuses {
            ResponseAcceptance.Statuses(ranges: ranges)
        }

        /// The given codes.
        public static func codes(_ codes: Int...) -> ResponseAcceptance.Statuses {
            ResponseAcceptance.Statuses(ranges: codes.map { $0...$0 })
        }

        /// The codes 200 to 299.
        public static let successful = ResponseAcceptance.Statuses(ranges: [200...299])
        /// 204 (No Content) and 205 (Reset Content), which have no body.
        public static let withoutContent = ResponseAcceptance.Statuses(ranges: [204...205])
        /// All statuses.
        public static let any = ResponseAcceptance.Statuses(ranges: [Int.min...Int.max])
        /// An empty set of statuses: every response is refused.
        public static let none = ResponseAcceptance.Statuses(ranges: [])

        /// True if the statuses include a status.
        public func contains(_ status: HTTPResponse.Status) -> Bool { ranges.contains { $0.contains(status.code) } }

        /// The ranges as text, such as `200 to 299`.
        var text: String {
            ranges.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
                .joined(separator: ", ")
        }
    }
}

extension ResponseAcceptance {
    /// The media types that a serializer accepts.
    ///
    /// They are a list of ranges as ``ContentType/matches(_:)`` reads them, or any type.
    public struct ContentTypes: Sendable, Hashable {
        /// The ranges; nil accepts any type.
        public let ranges: [ContentType]?

        /// Any type, even a response without a Content-Type.
        public static let any = ResponseAcceptance.ContentTypes(ranges: nil)

        /// The types within one of the ranges.
        public static func types(_ ranges: [ContentType]) -> ResponseAcceptance.ContentTypes {
            ResponseAcceptance.ContentTypes(ranges: ranges)
        }

        /// The types within one of the ranges.
        public static func types(_ ranges: ContentType...) -> ResponseAcceptance.ContentTypes {
            ResponseAcceptance.ContentTypes(ranges: ranges)
        }

        /// The media types that either of the two accepts.
        public func union(_ other: ResponseAcceptance.ContentTypes) -> ResponseAcceptance.ContentTypes {
            guard let ranges, let others = other.ranges else { return .any }
            return ResponseAcceptance.ContentTypes(ranges: ranges + others.filter { !ranges.contains($0) })
        }

        /// True if a type is accepted. A missing type is accepted only by ``any``.
        public func accepts(_ type: ContentType?) -> Bool {
            guard let ranges else { return true }
            guard let type else { return false }
            return ranges.contains { type.matches($0) }
        }
    }
}

/// A response that is not acceptable, with the part of its body that was read.
struct RejectedResponse {
    let response: CurlewResponse.Collected
    /// The acceptable statuses, if the response's is not among them.
    let statuses: ResponseAcceptance.Statuses?
    /// The acceptable media types, if the response's is not among them.
    let content: ResponseAcceptance.ContentTypes?
    /// The acceptable media types.
    let acceptable: ResponseAcceptance.ContentTypes
    /// The error that interrupted the reading of the body.
    let readError: (any Error)?

    /// True if the body may describe the failure.
    var isWorthParsing: Bool { content == nil && readError == nil && !response.body.isEmpty }

    /// The error, with the decoded body.
    func error(parsed: Result<any Sendable, any Error>? = nil) -> CurlewError {
        var context = CurlewError.Context(response, acceptable: acceptable)
        if readError == nil { context.failure?.body = response.body }
        guard let statuses else { return contentError(context) }
        var beneath: (any Error)? = readError
        if content != nil { beneath = contentError(context) }
        switch parsed {
        case .success(let value): context.failure?.parsed = value
        case .failure(let error): beneath = error
        case nil: break
        }
        return CurlewError(
            .unacceptableStatus, "the status is \(response.status.text), not one of \(statuses.text)",
            context: context, underlying: beneath)
    }

    private func contentError(_ context: CurlewError.Context) -> CurlewError {
        let names = (acceptable.ranges ?? []).map(\.essence).joined(separator: ", ")
        // The essence consists of token bytes; parameters may contain any bytes, so they are not logged.
        let received = response.mediaType.map { "the content type is \($0.essence.prefix(100))" }
        return CurlewError(
            .unacceptableContentType, "\(received ?? "there is no usable content type"), not one of \(names)",
            context: context, underlying: readError)
    }
}
