internal import HTTPTypes

/// The answer to one attempt as it is read: its head, checked line by line, and the framing of its body.
///
/// A pure machine; it performs nothing.
struct IncomingResponse {
    private var parser: HeadParser
    private var chunks: ChunkFraming?

    /// The head of the response, once it is the caller's.
    private(set) var head: HTTPResponse?
    /// A head with a challenge that libcurl may answer by itself (Digest and Negotiate towards a proxy, Negotiate and NTLM
    /// towards an origin). It passes through the callbacks like any other, and only afterwards libcurl says whether it sends
    /// the request again. So it is the response once a byte of its body or the end of the exchange has come, and is forgotten
    /// once the next request is announced.
    private(set) var provisionalChallenge: HTTPResponse?
    private(set) var trailers = HTTPFields()
    /// Bytes of the body, after chunked coding.
    private(set) var bodyBytes: Int64 = 0

    init(limits: CurlewResponse.Limits, cache: ResponseHeadCache, expectsUpgrade: Bool = false) {
        parser = HeadParser(limits: limits, cache: cache, expectsUpgrade: expectsUpgrade)
    }

    var version: HTTPProtocolVersion { parser.version }
    var status: Int { parser.status }
    var framing: BodyFraming { parser.framing }
    /// True if any line of the head has come.
    var hasBegun: Bool { parser.hasBegun }
    /// True if the head has a field so far.
    var hasField: Bool { parser.hasField }
    /// True if the empty line that ends the final head was seen.
    var isHeadComplete: Bool { parser.isComplete }

    /// Reads one line of a head or of trailers.
    mutating func take(_ line: UnsafeRawBufferPointer) -> HeadParser.Event {
        let event = parser.take(line)
        if case .trailers(let fields) = event { trailers = fields }
        return event
    }

    func isFoldedFirst(_ line: UnsafeRawBufferPointer) -> Bool { parser.isFoldedFirst(line) }

    /// Keeps a head until libcurl has said whether it answers it.
    mutating func keepChallenge(_ response: HTTPResponse) { provisionalChallenge = response }

    mutating func takeChallenge() -> HTTPResponse? {
        defer { provisionalChallenge = nil }
        return provisionalChallenge
    }

    /// The head is the caller's.
    mutating func publish(_ response: HTTPResponse) { head = response }

    mutating func followChunks() { chunks = ChunkFraming() }

    /// Follows the raw bytes of a chunked body.
    /// - Returns: Whether its coding is in order.
    mutating func follow(raw bytes: UnsafeRawBufferPointer) -> Bool {
        chunks?.follow(bytes)
        return chunks?.isBroken != true
    }

    mutating func countBody(_ count: Int) { bodyBytes += Int64(count) }

    /// The trailers, those included that nothing has ended, as HTTP/2 has no empty line after them.
    mutating func takeTrailers() -> HTTPFields {
        if trailers.isEmpty { trailers = parser.takeFields() }
        return trailers
    }

    // MARK: Its end

    /// True if the body has as many bytes as it will have; false if that is not known.
    func isBodyWhole(method: HTTPRequest.Method) -> Bool {
        head != nil && expectedBodyBytes(method: method) == bodyBytes
    }

    /// Whether nothing of the response is missing, once libcurl reads no more of it; nil if that cannot be known. From 8.7 on it shows nobody
    /// where the last chunk ends, but while the connection is open it stops for no other reason.
    func isWholeAtEnd(method: HTTPRequest.Method, isOpen: Bool) -> Bool? {
        if framing.isChunked { return chunks.map { $0.isEnded } ?? (isOpen ? true : nil) }
        return expectedBodyBytes(method: method).map { $0 == bodyBytes } ?? true
    }

    /// True if the server will read no more of the request: it has answered, and either failed or said that it closes the connection
    /// (RFC 9112 §9.5).
    var refusesRest: Bool {
        status >= 300 || version == .http10
            || head?.headerFields[values: .connection].contains { $0.lowercased().contains("close") } == true
    }

    /// True if the connection can carry another exchange after this response (RFC 9112 §9.3).
    var keepsConnection: Bool { framing.keepsConnection(version: version) }

    /// True if nothing but the end of the connection tells where the body ends (RFC 9112 §6.3).
    func endsWithConnection(method: HTTPRequest.Method) -> Bool {
        version != .http2 && method != .head && ![204, 304].contains(status) && framing.contentLength == nil
            && !framing.isChunked
    }

    /// True if the end of the stream alone is the end of the body.
    func isEndHidden(method: HTTPRequest.Method) -> Bool {
        version == .http2 && method != .head && ![204, 304].contains(status) && framing.contentLength == nil
    }

    /// The bytes that the body will have, if that is known.
    func expectedBodyBytes(method: HTTPRequest.Method) -> Int64? {
        method == .head || status == 204 || status == 304 || status == 101 ? 0 : framing.contentLength
    }
}
