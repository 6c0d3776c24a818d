#if Service
public import Curlew
public import HTTPTypes
public import NIOCore

extension HTTPSession {
    /// The rules of a gateway (RFC 9110 §3.7): what it adds to requests and takes from them, whom it believes, and how it answers
    /// where the upstream does not.
    ///
    /// ```swift
    /// var rules = try HTTPSession.Forwarding(named: "edge")
    /// rules.trustedProxies = [try IPNetwork("10.0.0.0/8")]
    /// ```
    public struct Forwarding: Sendable {
        /// The gateway's name in the field Via, the same for all its instances (RFC 9110 §7.6.3). A request that has passed a gateway of this
        /// name is refused with 508: it goes in circles.
        public let name: String
        /// The peers whose `Forwarded` and `X-Forwarded-…` fields are believed and added to, such as load balancers. None by
        /// default: those fields of any other peer are taken off, since anybody can write them.
        public var trustedProxies: [IPNetwork] = []
        /// The fields that tell the upstream who asked for what. Both kinds by default.
        public var clientFields: ClientFields = [.forwarded, .xForwarded]
        /// True if the upstream is sent the client's Host field. False, the default, sends that of the upstream's URL; what the client
        /// asked for is in `X-Forwarded-Host` and `Forwarded`.
        public var keepsHost = false
        /// The largest body that is awaited whole before ``HTTPSession/forward(_:body:from:isSecure:to:as:options:)`` returns, if its length is known:
        /// a server then writes head and body at once, and an upstream that breaks off in it is a 502. 16 KiB by default; zero hands
        /// every body on as it comes.
        public var collectedBody: ByteSize = .kibibytes(16)
        /// The protocols that a connection may be switched to (RFC 9110 §7.8), such as `websocket`, in lower case. None by default: the field Upgrade
        /// is then taken off every request, and the upstream answers as if it were not there. `h2c` is never one of them, as its requests would pass
        /// the gateway unseen.
        ///
        /// Where the upstream switches, ``Answer/status`` is 101, and ``Answer/relay(_:write:finish:)`` carries the bytes.
        public var upgrades: Set<String> = []
        /// Takes the interim responses (1xx) of the upstream, in order and before its answer, where a server can send them on. nil, the
        /// default, drops them, as RFC 9110 §15.2 allows.
        public var onInterim: (@Sendable (HTTPResponse) async -> Void)?
        /// Makes the answer where the upstream gave none, of the error and the status that goes with it. nil, the default, answers with
        /// the status and its name as plain text.
        public var onError: (@Sendable (CurlewError, HTTPResponse.Status) async -> Answer)?

        /// - Parameter name: The gateway's name, a token (RFC 9110 §5.6.2).
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if it is none.
        public init(named name: String) throws {
            guard HTTPField.Name(name) != nil else {
                throw CurlewError(.invalidRequest, "the name of a gateway has letters, digits, hyphens and dots")
            }
            self.name = name
        }

        /// Kinds of fields about a client.
        public struct ClientFields: OptionSet, Sendable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            /// `Forwarded` (RFC 7239).
            public static let forwarded = ClientFields(rawValue: 1)
            /// `X-Forwarded-For`, `X-Forwarded-Host` and `X-Forwarded-Proto`.
            public static let xForwarded = ClientFields(rawValue: 2)
        }
    }
}

extension HTTPSession.Forwarding {
    /// An answer to be sent to the client: that of the upstream without what was meant for the gateway, or one of the gateway's own.
    public struct Answer: Sendable {
        /// The status.
        public var status: HTTPResponse.Status
        /// The fields. Content-Length is among them where the length is known.
        public var fields: HTTPFields
        /// The body. ``send(_:finish:)`` reads it.
        public var body: CurlewResponse.Body
        /// The whole body, if it is there already (``HTTPSession/Forwarding/collectedBody``) and nobody reads the request's any more, so
        /// that it may be sent in any way. nil leaves it to ``send(_:finish:)``.
        public internal(set) var buffer: ByteBuffer?
        /// The reason why the upstream gave no answer; nil for an answer of the upstream's.
        public internal(set) var error: CurlewError?
        /// The upstream's connection, if it was switched to another protocol: the answer's status is then 101, and it has no body. The connection is closed
        /// with the last copy of the answer.
        public internal(set) var upgraded: HTTPSession.UpgradedStream?
        /// The body of the request, which may still be on its way.
        var received: (any ClosableBody)?
        /// False if the head is the whole response, whatever its Content-Length.
        private(set) var hasContent = true

        /// Makes an answer of the gateway's own. Content-Length is set where a body may be.
        public init(_ status: HTTPResponse.Status, fields: HTTPFields = HTTPFields(), bytes: [UInt8] = []) {
            self.status = status
            self.fields = fields
            let bytes = Self.hasContent(status) ? bytes : []
            if Self.hasContent(status) { self.fields[.contentLength] = String(bytes.count) }
            body = .bytes(bytes)
            buffer = ByteBuffer(bytes: bytes)
        }

        /// The answer of the upstream to a request with this method.
        init(_ response: CurlewResponse, to method: HTTPRequest.Method, via: String) {
            status = response.status
            // A HEAD and a 304 tell the length of what a GET would bring (RFC 9110 §8.6).
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

        /// Takes the body away, as a response to HEAD has none. The fields stay.
        mutating func removeContent() {
            hasContent = false
            body = .bytes([])
            if buffer != nil { buffer = ByteBuffer() }
        }

        /// Sends the body, waiting for each write, so that the upstream is no faster than the client.
        ///
        /// When it returns, nobody reads the request's body any more: a server may read on in the connection. Where the answer came before
        /// the upload's end, that takes as long as a read that is under way.
        /// - Parameters:
        ///   - write: Writes a part of the body to the client.
        ///   - finish: Ends the body, with the upstream's trailers if it had any.
        /// - Throws: What `write` and `finish` throw; the upstream's exchange ends then. A ``Curlew/CurlewError`` if the body breaks off, or has
        ///   another length than Content-Length in ``fields`` (``Curlew/ErrorCode/responseTruncated`` or
        ///   ``Curlew/ErrorCode/invalidResponse``; no byte beyond that length is written): a server must then close the connection (over
        ///   HTTP/2: reset the stream), or the client would take a part for the whole.
        // Concurrent, as servers' writers are whose modules do not have `NonisolatedNonsendingByDefault`: one that is not Sendable could
        // not be captured otherwise.
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

/// The bytes of a body beside the length that a server has been told. A server that frames by Content-Length counts none itself.
private struct ContentCount {
    /// nil if no length is announced.
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
