#if TestKit
public import HTTPTypes
internal import NIOCore

/// A request for a handler of ``MockServer``: the head is complete, the body streams in.
public struct InboundRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The request target as sent: path and query, or another form of RFC 9112, section 3.2.
    public let target: String
    /// The fields in their order. In HTTP/2 `:authority` appears as `Host`.
    public let fields: HTTPFields
    /// The protocol version of the request.
    public let version: ProtocolVersion
    /// The number of the request's connection at the server, from 0.
    public let connectionIndex: Int
    /// The request's number on that connection, from 0.
    public let exchangeIndex: Int
    /// The result of the TLS handshake; `nil` on a cleartext connection.
    public let tls: HandshakeRecord?
    /// The body; it can be read once, by one task at a time. The server later receives and records the unread rest.
    public let body: InboundRequestBody

    /// The target up to its query.
    public var path: String {
        self.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}

/// The body of an ``InboundRequest`` as it arrives: a slow reader slows the client.
///
/// The server reads at most 256 KiB ahead of the reader; the kernel and HTTP/2's window hold a little more.
public struct InboundRequestBody: AsyncSequence, Sendable {
    /// A piece of the body, as it arrived.
    public typealias Element = [UInt8]

    let reader: RequestBodyReader

    /// An iterator over the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: RequestBodyReader

        /// The next piece, or `nil` at the end; throws when the client disconnects before that.
        public mutating func next() async throws -> [UInt8]? {
            try await self.reader.next().map { Array(buffer: $0) }
        }
    }

    /// Starts reading, or continues where another iterator stopped.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: self.reader)
    }

    /// Reads the rest of the body.
    ///
    /// - Throws: ``TestKitError`` when the rest is longer than `limit`.
    public func collect(upTo limit: Int = 16 << 20) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in self {
            bytes += piece
            guard bytes.count <= limit else { throw TestKitError("a request body over \(limit) bytes") }
        }
        return bytes
    }
}
#endif
