#if Service
public import Curlew
public import HTTPTypes
public import NIOCore

extension HTTPSession {
    /// The rules of a gateway (RFC 9110 §3.7): the fields that it adds and removes, the proxies that it trusts, and its
    /// own answers to failures of the upstream.
    ///
    /// ```swift
    /// var rules = try HTTPSession.Forwarding(named: "edge")
    /// rules.trustedProxies = [try IPNetwork("10.0.0.0/8")]
    /// ```
    public struct Forwarding: Sendable {
        /// The gateway's name in the field Via, the same for all its instances (RFC 9110 §7.6.3). A request that has
        /// already passed a gateway of this name is refused with 508, because it loops.
        public let name: String
        /// The peers whose `Forwarded` and `X-Forwarded-…` fields are trusted and extended, such as load balancers.
        /// The list is empty by default. These fields of other peers are removed, since any client can write them.
        public var trustedProxies: [IPNetwork] = []
        /// The fields that describe the client's request to the upstream. Both kinds by default.
        public var clientFields: ClientFields = [.forwarded, .xForwarded]
        /// True if the upstream receives the client's Host field. False, the default, sends the host of the upstream's
        /// URL; the client's host is in `X-Forwarded-Host` and `Forwarded`.
        public var keepsHost = false
        /// The largest body that is collected before ``HTTPSession/forward(_:body:from:isSecure:to:as:options:)``
        /// returns, if its length is known. 16 KiB by default; zero streams every body.
        ///
        /// A server then writes head and body at once, and an upstream that fails within the body is answered with 502.
        public var collectedBody: ByteSize = .kibibytes(16)
        /// The protocols that a connection may be switched to (RFC 9110 §7.8), such as `websocket`, in lower case. None
        /// by default: the field Upgrade is then removed from every request, and the upstream answers without it.
        ///
        /// `h2c` is always removed, because its requests would bypass the gateway. If the upstream switches,
        /// ``Answer/status`` is 101, and ``Answer/relay(_:write:finish:)`` carries the bytes.
        public var upgrades: Set<String> = []
        /// A receiver of the upstream's interim responses (1xx), in order and before its final response, for servers
        /// that can forward them. nil, the default, drops them, as RFC 9110 §15.2 allows.
        public var onInterim: (@Sendable (HTTPResponse) async -> Void)?
        /// A function that makes the answer to a failure of the upstream, from the error and its status. nil, the
        /// default, answers with the status and its name as plain text.
        public var onError: (@Sendable (CurlewError, HTTPResponse.Status) async -> Answer)?

        /// - Parameter name: The gateway's name, a token (RFC 9110 §5.6.2).
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if the name is not a token.
        public init(named name: String) throws {
            guard HTTPField.Name(name) != nil else {
                throw CurlewError(.invalidRequest, "the name of a gateway has letters, digits, hyphens and dots")
            }
            self.name = name
        }

        /// The kinds of fields about a client.
        public struct ClientFields: OptionSet, Sendable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            /// The field `Forwarded` (RFC 7239).
            public static let forwarded = ClientFields(rawValue: 1)
            /// The fields `X-Forwarded-For`, `X-Forwarded-Host` and `X-Forwarded-Proto`.
            public static let xForwarded = ClientFields(rawValue: 2)
        }
    }
}

extension HTTPSession.Forwarding {
    /// An answer for the client: the upstream's response without its hop-by-hop fields, or the gateway's own answer.
    public struct Answer: Sendable {
        /// The status.
        public var status: HTTPResponse.Status
        /// The fields. They include Content-Length if the length is known.
        public var fields: HTTPFields
        /// The body. ``send(_:finish:)`` reads it.
        public var body: CurlewResponse.Body
        /// The complete body, if it is already collected (``HTTPSession/Forwarding/collectedBody``) and no read of the
        /// request's body is in progress; a server may then send it in any way. If nil, ``send(_:finish:)`` must send
        /// the body.
        public internal(set) var buffer: ByteBuffer?
        /// The failure of the upstream; nil for an answer of the upstream.
        public internal(set) var error: CurlewError?
        /// The upstream's connection, if it was switched to another protocol. The status of the answer is then 101, and
        /// the answer has no body. The connection is closed with the last copy of the answer.
        public internal(set) var upgraded: HTTPSession.UpgradedStream?
        /// The body of the request, which may still be in transfer.
        var received: (any ClosableBody)?
        /// False if the response consists only of its head, whatever its Content-Length is.
        private(set) var hasContent = true

        /// Makes an answer of the gateway itself. Content-Length is set if the status allows a body.
        public init(_ status: HTTPResponse.Status, fields: HTTPFields = HTTPFields(), bytes: [UInt8] = []) {
            self.status = status
            self.fields = fields
            let bytes = Self.hasContent(status) ? bytes : []
            if Self.hasContent(status) { self.fields[.contentLength] = String(bytes.count) }
            body = .bytes(bytes)
            buffer = ByteBuffer(bytes: bytes)
        }

        /// Makes the answer from the upstream's response to a request with this method.
        init(_ response: CurlewResponse, to method: HTTPRequest.Method, via: String) {
            status = response.status
            // Responses to HEAD and 304 state the length of the body of a GET (RFC 9110 §8.6).
            let length: Int64? =
                switch status {
                case .noContent, .switchingProtocols: nil
                case _ where method == .head, .notModified: response.contentLength
                default: response.body.length
                }
            fields = HopFields.response(response.fields, length: length, via: via)
            if status == .switchingProtocols {
                for name in [HTTPField.Name.upgrade, .connection] {
                    for value in response.fields[values: name] { fields.append(HTTPField(name: name, value: value)) }
                }
            }
            body = response.body
            hasContent = method != .head && Self.hasContent(status)
        }

        /// False for the statuses whose responses end with their head (RFC 9112 §6.3).
        private static func hasContent(_ status: HTTPResponse.Status) -> Bool {
            status != .noContent && status != .notModified && status.kind != .informational
        }

        /// Removes the body, because a response to HEAD has none. The fields stay.
        mutating func removeContent() {
            hasContent = false
            body = .bytes([])
            if buffer != nil { buffer = ByteBuffer() }
        }

        /// Sends the body and waits for each write, so that the upstream is no faster than the client.
        ///
        /// When this function returns, no read of the request's body is in progress, and the server may read on the
        /// connection. If the response arrived before the end of the upload, the function waits for the pending read.
        /// - Parameters:
        ///   - write: Writes a part of the body to the client.
        ///   - finish: Ends the body, with the upstream's trailers if there are any.
        /// - Throws: The errors of `write` and `finish`, which also cancel the upstream's exchange. A
        ///   ``Curlew/CurlewError`` if the body breaks off or does not match Content-Length in ``fields``:
        ///   ``Curlew/ErrorCode/responseTruncated`` for a shorter body, ``Curlew/ErrorCode/invalidResponse`` for a
        ///   longer one or an invalid Content-Length. No byte beyond that length is written. A server must then close
        ///   the connection, or reset the stream over HTTP/2; otherwise the client would accept an incomplete body.
        // `@concurrent` matches the writers of servers whose modules lack `NonisolatedNonsendingByDefault`: a closure
        // could not capture a writer that is not Sendable otherwise.
        @concurrent
        public func send(
            _ write: @concurrent (ByteBuffer) async throws -> Void,
            finish: @concurrent (HTTPFields?) async throws -> Void
        ) async throws {
            var length = ContentCount(announced: hasContent ? fields[values: .contentLength] : ["0"])
            if let buffer {
                try length.take(buffer.readableBytes)
                try length.end()
                if buffer.readableBytes > 0 { try await write(buffer) }
                return try await finish(nil)
            }
            var buffers = body.buffers.makeAsyncIterator()
            while let buffer = try await buffers.next() {
                try length.take(buffer.readableBytes)
                try await write(buffer)
            }
            try length.end()
            try await finish(HopFields.trailers(of: body))
            await received?.close()
        }
    }
}

/// A counter of a body's bytes against the announced length. A server that frames by Content-Length does not count them
/// itself.
private struct ContentCount {
    /// The number of bytes left; nil if no length is announced.
    private var left: Int64?
    private let isReadable: Bool

    /// - Parameter values: The values of Content-Length.
    init(announced values: [String]) {
        left = values.first.flatMap { Int64($0) }
        isReadable = values.isEmpty || values.count == 1 && (left ?? -1) >= 0
    }

    mutating func take(_ count: Int) throws {
        guard isReadable else { throw CurlewError(.invalidResponse, "Content-Length of the answer is not one number") }
        guard let left else { return }
        guard count <= left else { throw CurlewError(.invalidResponse, "the answer is longer than its Content-Length") }
        self.left = left - Int64(count)
    }

    func end() throws {
        guard isReadable else { throw CurlewError(.invalidResponse, "Content-Length of the answer is not one number") }
        guard (left ?? 0) == 0 else {
            throw CurlewError(.responseTruncated, "the answer is shorter than its Content-Length")
        }
    }
}
#endif
