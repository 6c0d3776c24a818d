#if TestKit
public import HTTPTypes
internal import NIOCore

/// A request as a handler of ``MockServer`` sees it: the head at once, the body as it arrives.
public struct InboundRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The request target as it was sent: path and query, or another form of RFC 9112, section 3.2.
    public let target: String
    /// The fields in their order. In HTTP/2 `:authority` is found as `Host`.
    public let fields: HTTPFields
    /// The version it came with.
    public let version: ProtocolVersion
    /// The number of its connection at the server, from 0.
    public let connectionIndex: Int
    /// Its number on that connection, from 0.
    public let exchangeIndex: Int
    /// What TLS agreed on; `nil` on a cleartext connection.
    public let tls: HandshakeRecord?
    /// The body, to be read once and by one task at a time. What is left unread is read and recorded afterwards.
    public let body: InboundRequestBody

    /// The target up to its query.
    public var path: String {
        self.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}

/// The body of an ``InboundRequest`` as it arrives: reading slowly slows the client.
///
/// At most 256 KiB, and a little more in the kernel and in HTTP/2's window, are taken in ahead of the reader.
public struct InboundRequestBody: AsyncSequence, Sendable {
    /// The pieces in which the body arrived.
    public typealias Element = [UInt8]

    let reader: RequestBodyReader

    /// Hands out the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: RequestBodyReader

        /// The next piece, or `nil` at the end; throws when the client goes away before it.
        public mutating func next() async throws -> [UInt8]? {
            try await self.reader.next().map { Array(buffer: $0) }
        }
    }

    /// Starts reading, or continues where another iterator stopped.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: self.reader)
    }

    /// The rest of the body.
    ///
    /// - Throws: ``TestKitError`` when it is longer than `limit`.
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
