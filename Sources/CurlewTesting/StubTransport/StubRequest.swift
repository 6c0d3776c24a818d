#if TestKit
public import Curlew
public import HTTPTypes

/// A request that a ``StubTransport`` has received.
public struct StubRequest: Sendable {
    /// The request as it left the chain. Its body has already been read: use ``body``.
    public let request: CurlewRequest
    /// The bytes of the body.
    public let body: [UInt8]
    /// The request's number at the transport, from 0.
    public let index: Int

    /// The method.
    public var method: HTTPRequest.Method { self.request.method }
    /// The URI of the request.
    public var uri: CurlewURI { self.request.uri }
    /// The path of the URI.
    public var path: String { self.request.uri.path }
    /// The fields in their order.
    public var fields: HTTPFields { self.request.fields }
    /// The body as text.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
#endif
