internal import HTTPTypes

/// The response of an attempt while it is received: its head, checked line by line, and the framing of its body.
///
/// The type is a pure state machine without I/O.
struct IncomingResponse {
    private var parser: HeadParser
    private var chunks: ChunkFraming?

    /// The head of the response; nil before it is published to the caller.
    private(set) var head: HTTPResponse?
    /// A head with a challenge that libcurl may answer by itself: Digest and Negotiate for a proxy, Negotiate and NTLM
    /// for an origin. The callbacks get it like any other head, and only later libcurl reports whether it repeats the
    /// request. So this head becomes the response with the first byte of its body or the end of the exchange. It is
    /// discarded when the next request is announced.
    private(set) var provisionalChallenge: HTTPResponse?
    private(set) var trailers = HTTPFields()
    /// True if an interim response has arrived.
    private(set) var hasInterim = false
    /// True if bytes have arrived behind the end of the response.
    private(set) var hasExcess = false
    /// The bytes of the body, after chunked coding.
    private(set) var bodyBytes: Int64 = 0

    init(limits: CurlewResponse.Limits, cache: ResponseHeadCache, expectsUpgrade: Bool = false) {
        parser = HeadParser(limits: limits, cache: cache, expectsUpgrade: expectsUpgrade)
    }

    var version: HTTPProtocolVersion { parser.version }
    var status: Int { parser.status }
    var framing: BodyFraming { parser.framing }
    /// True if any line of the head has arrived.
    var hasBegun: Bool { parser.hasBegun }
    /// True if the head has a field so far.
    var hasField: Bool { parser.hasField }
    /// True if the empty line at the end of the final head has arrived.
    var isHeadComplete: Bool { parser.isComplete }

    /// Parses one line of a head or of trailers.
    mutating func take(_ line: UnsafeRawBufferPointer) -> HeadParser.Event {
        let event = parser.take(line)
        switch event {
        case .trailers(let fields): trailers = fields
        case .interim: hasInterim = true
        default: break
        }
        return event
    }

    func isFoldedFirst(_ line: UnsafeRawBufferPointer) -> Bool { parser.isFoldedFirst(line) }

    /// Keeps a head until libcurl has reported whether it answers the challenge.
    mutating func keepChallenge(_ response: HTTPResponse) { provisionalChallenge = response }

    mutating func takeChallenge() -> HTTPResponse? {
        defer { provisionalChallenge = nil }
        return provisionalChallenge
    }

    /// Publishes the head to the caller.
    mutating func publish(_ response: HTTPResponse) { head = response }

    mutating func followChunks() { chunks = ChunkFraming() }

    /// Follows the raw bytes of a chunked body.
    /// - Returns: True if the coding is valid.
    mutating func follow(raw bytes: UnsafeRawBufferPointer) -> Bool {
        chunks?.follow(bytes)
        return chunks?.isBroken != true
    }

    mutating func noteExcess() { hasExcess = true }

    mutating func countBody(_ count: Int) { bodyBytes += Int64(count) }

    /// Returns the trailers. They may be unterminated, because HTTP/2 has no empty line after them.
    mutating func takeTrailers() -> HTTPFields {
        if trailers.isEmpty { trailers = parser.takeFields() }
        return trailers
    }

    // MARK: End of the body

    /// True if the body has all its expected bytes; false if their number is unknown.
    func isBodyWhole(method: HTTPRequest.Method) -> Bool {
        head != nil && expectedBodyBytes(method: method) == bodyBytes
    }

    /// True if the response is complete after libcurl has stopped reading; nil if that is unknown. From 8.7 on libcurl
    /// does not show the end of the last chunk, but on an open connection it stops for no other reason.
    func isWholeAtEnd(method: HTTPRequest.Method, isOpen: Bool) -> Bool? {
        if framing.isChunked { return chunks.map { $0.isEnded } ?? (isOpen ? true : nil) }
        return expectedBodyBytes(method: method).map { $0 == bodyBytes } ?? true
    }

    /// True if the server will read no more of the request: it has responded, and either the status is 300 or above, or
    /// the response closes the connection (RFC 9112 §9.5).
    var refusesRest: Bool {
        status >= 300 || version == .http10
            || head?.headerFields[values: .connection].contains { $0.lowercased().contains("close") } == true
    }

    /// True if the connection can carry another exchange after this response (RFC 9112 §9.3).
    var keepsConnection: Bool { framing.keepsConnection(version: version) }

    /// True if only the end of the connection marks the end of the body (RFC 9112 §6.3).
    func endsWithConnection(method: HTTPRequest.Method) -> Bool {
        !version.hasStreams && method != .head && ![204, 304].contains(status) && framing.contentLength == nil
            && !framing.isChunked
    }

    /// True if only the end of the stream marks the end of the body.
    func isEndHidden(method: HTTPRequest.Method) -> Bool {
        version == .http2 && method != .head && ![204, 304].contains(status) && framing.contentLength == nil
    }

    /// The expected number of bytes of the body; nil if it is unknown.
    func expectedBodyBytes(method: HTTPRequest.Method) -> Int64? {
        method == .head || status == 204 || status == 304 || status == 101 ? 0 : framing.contentLength
    }
}
