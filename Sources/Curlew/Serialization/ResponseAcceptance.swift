/// Which responses a serializer takes, and how much of them it reads.
///
/// These are the rules of AFNetworking's serializers without their gaps:
/// - The status must be among ``statuses``; else ``ErrorCode/unacceptableStatus``.
/// - A response that has a body must have a media type among ``contentTypes``; else ``ErrorCode/unacceptableContentType``.
///   No Content-Type is not a match. Without a body the type does not matter.
/// - If both fail, the status is the error and the type the error beneath it. So a 502 with a page of HTML is a 502.
public struct ResponseAcceptance: Sendable, Hashable {
    /// Which statuses are taken. 200 to 299 by default.
    public var statuses = AcceptableStatuses.successful
    /// Which media types are taken.
    public var contentTypes: AcceptableContent
    /// The most bytes of a body that are read. nil, the default, takes ``ResponseLimits/collectedBody`` of the session, or
    /// 64 MiB for a response of no session. A larger body is ``ErrorCode/responseTooLarge``.
    public var bodyLimit: ByteCount?
    /// The most bytes of a body that are read, and kept in the error, when a response is not taken. 1 MiB by default. A
    /// larger body leaves its beginning in ``CurlewError/bodyPrefix`` and is not parsed.
    public var errorBodyLimit: ByteCount = .mebibytes(1)

    /// Takes 200 to 299 with these media types.
    public init(_ contentTypes: AcceptableContent) { self.contentTypes = contentTypes }
}

extension ResponseAcceptance {
    /// What becomes of a response.
    enum Verdict {
        /// It is taken, and its body is still to be read.
        case accepted
        /// It is taken because there is no body whose type would matter.
        case acceptedEmpty(CollectedResponse)
        case refused(Refusal)
    }

    /// Judges a response. The body is read only if the head is not enough.
    /// - Parameter failureContent: The media types taken when the status is not.
    func judge(_ response: Response, failureContent: AcceptableContent? = nil) async throws -> Verdict {
        let isStatusAccepted = statuses.contains(response.status)
        let content = isStatusAccepted ? contentTypes : failureContent ?? contentTypes
        let isTypeAccepted = content.accepts(response.mediaType)
        if isStatusAccepted, isTypeAccepted { return .accepted }
        let (bytes, breakage) = await response.body.gather(upTo: errorBodyLimit)
        // A caller who is gone wants to hear of nothing else.
        if breakage is CancellationError || (breakage as? CurlewError)?.code == .cancelled, let breakage {
            throw breakage
        }
        let collected = CollectedResponse(head: response.head, body: bytes, uri: response.uri)
        if isStatusAccepted, bytes.isEmpty {
            if let breakage { throw breakage }
            return .acceptedEmpty(collected)
        }
        return .refused(
            Refusal(
                response: collected, statuses: isStatusAccepted ? nil : statuses,
                content: isTypeAccepted || bytes.isEmpty ? nil : content, acceptable: content, breakage: breakage))
    }

    /// Reads the body of a response that is taken.
    func collect(_ response: Response) async throws -> CollectedResponse {
        do {
            let bytes = try await response.body.collect(upTo: bodyLimit ?? response.collectLimit)
            return CollectedResponse(head: response.head, body: bytes, uri: response.uri)
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(uri: response.uri, stage: .receiving, response: response.head))
        }
    }

    /// The error for a body that was taken and cannot be decoded.
    func decodingError(_ error: any Error, _ response: CollectedResponse, format: String) -> CurlewError {
        var context = CurlewError.Context(response, acceptable: contentTypes)
        if response.body.count <= errorBodyLimit.bytes { context.failure?.body = response.body }
        if let error = error as? CurlewError, error.code == .emptyBody || error.code == .unsupported {
            return error.adding(context)
        }
        return CurlewError(
            .decodingFailed, "the body cannot be read as \(format)", context: context, underlying: error)
    }
}

extension CurlewError.Context {
    /// What is known of a response whose body was read.
    init(_ response: CollectedResponse, acceptable: AcceptableContent) {
        self.init(uri: response.uri, stage: .receiving, response: response.head)
        bodyPrefix = Array(response.body.prefix(CurlewError.bodyPrefixLimit))
        failure = ResponseFailure(acceptable: acceptable)
    }
}

extension ResponseBody {
    /// Reads the body as far as it goes and as far as it is wanted.
    /// - Returns: The bytes, and what kept them from being the whole body.
    func gather(upTo limit: ByteCount) async -> (bytes: [UInt8], breakage: (any Error)?) {
        // Of a body that is too large anyway only the beginning is of use.
        let isTooLarge = length.map { $0 > limit.bytes } ?? false
        let wanted = isTooLarge ? Swift.min(CurlewError.bodyPrefixLimit, limit.bytes) : limit.bytes
        var bytes: [UInt8] = []
        var iterator = makeAsyncIterator()
        do {
            while let chunk = try await iterator.next() {
                let room = wanted - bytes.count
                bytes += chunk.prefix(room)
                if chunk.count > room || isTooLarge && chunk.count == room { return (bytes, Self.tooLarge(limit)) }
            }
            return (bytes, nil)
        } catch {
            return (bytes, error)
        }
    }
}
