public import HTTPTypes

/// A response whose body was read into memory: what a serializer decodes.
public struct CollectedResponse: Sendable {
    /// Status, reason and header fields.
    public let head: HTTPResponse
    /// The whole body.
    public let body: [UInt8]
    /// The URI that answered.
    public let uri: URI

    public init(head: HTTPResponse, body: [UInt8], uri: URI) {
        self.head = head
        self.body = body
        self.uri = uri
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }

    /// Content-Type as ``MediaType/init(contentTypeOf:)`` reads it.
    public var mediaType: MediaType? { MediaType(contentTypeOf: head.headerFields) }
}
