#if TestKit
public import HTTPTypes

/// A request that a ``MockServer`` has received, for inspection by a test.
public struct RecordedRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The request target as sent.
    public var target: String
    /// The fields in their order. In HTTP/2 `:authority` appears as `Host`.
    public var fields: HTTPFields
    /// The body, up to ``MockServer/Configuration/recordedBodyLimit``.
    public var body: [UInt8] = []
    /// The length of the complete body.
    public var bodyLength = 0
    /// The sizes of the pieces in which the client sent the body, at most the first 65,536.
    ///
    /// A piece is a chunk of HTTP/1.1's chunked coding (RFC 9112, section 7.1) or a DATA frame of HTTP/2 without its
    /// padding. Empty pieces are omitted. In HTTP/1.1 a body with Content-Length has no pieces. The segments of the
    /// network do not matter.
    public var chunkSizes: [Int] = []
    /// The number of pieces.
    public var chunkCount = 0
    /// The fields after the body.
    public var trailers: HTTPFields = [:]
    /// True if the request was received to its end; false if the client aborted it.
    public var isComplete = false
    /// The protocol version of the request.
    public var version: ProtocolVersion
    /// The number of the request's connection at the server, from 0.
    public var connectionIndex: Int
    /// The request's number on that connection, from 0.
    public var exchangeIndex: Int
    /// The result of the TLS handshake: server name, version, ALPN; `nil` on a cleartext connection.
    public var tls: HandshakeRecord?

    /// The body as text.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
#endif
