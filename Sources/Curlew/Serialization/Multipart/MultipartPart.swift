public import HTTPTypes

/// A part of a multipart response: its fields, and a body still to be read.
///
/// The body is to be read before the next part is asked for; what is left of it is passed over then, and reading it later is
/// ``ErrorCode/responseAlreadyTaken``.
public struct MultipartPart: Sendable {
    /// The fields, in their order. May be none.
    public let fields: HTTPFields
    /// The body: chunks as they arrive. While it is not read, the transfer waits.
    public let body: ResponseBody

    /// The `name` of Content-Disposition.
    public var name: String? { disposition?.name }

    /// The file name of Content-Disposition: `filename*` if it can be read, else `filename`. It is what the peer says: never
    /// use it as a path.
    public var fileName: String? { disposition?.fileName }

    /// Content-Type as ``MediaType/init(contentTypeOf:)`` reads it.
    public var mediaType: MediaType? { MediaType(contentTypeOf: fields) }

    /// The parts of this part, which must be multipart itself.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if its Content-Type is not multipart or has no boundary.
    public func multipart(limits: MultipartLimits = MultipartLimits()) throws -> MultipartParts {
        try body.multipart(mediaType, limits: limits)
    }

    private var disposition: ContentDisposition? { ContentDisposition(of: fields) }
}
