#if TestKit
public import HTTPTypes

/// A request that a ``MockServer`` has received, for a test to look at.
public struct RecordedRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The request target as it was sent.
    public var target: String
    /// The fields in their order. In HTTP/2 `:authority` is found as `Host`.
    public var fields: HTTPFields
    /// The body, as much of it as ``MockServer/Configuration/recordedBodyLimit`` allows.
    public var body: [UInt8] = []
    /// The length of the whole body.
    public var bodyLength = 0
    /// The sizes of the pieces in which the client sent the body, the first 65,536 of them: the chunks of HTTP/1.1's
    /// chunked coding (RFC 9112, section 7.1), the DATA frames of HTTP/2 without their padding. Empty ones do not
    /// count, and a body with Content-Length has none in HTTP/1.1. How the network cut them does not matter.
    public var chunkSizes: [Int] = []
    /// The number of pieces.
    public var chunkCount = 0
    /// The fields after the body.
    public var trailers: HTTPFields = [:]
    /// True if the request came to its end; `false` when the client broke off.
    public var isComplete = false
    /// The version it came with.
    public var version: ProtocolVersion
    /// The number of its connection at the server, from 0.
    public var connectionIndex: Int
    /// Its number on that connection, from 0.
    public var exchangeIndex: Int
    /// What TLS agreed on: the server's name, the version, ALPN; `nil` on a cleartext connection.
    public var tls: HandshakeRecord?

    /// The body as text.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
#endif
