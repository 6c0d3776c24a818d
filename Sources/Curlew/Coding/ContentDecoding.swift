internal import HTTPTypes

/// Announces the content codings that it knows, and decodes the bodies that come back (RFC 9110 §8.4).
///
/// - A request without Accept-Encoding and without Range gets `Accept-Encoding: gzip, deflate, br, zstd`. What is set by
///   the caller stays as it is.
/// - A body is decoded as it is read, at most 64 KiB ahead of its reader, on the reader's executor: `gzip` and `x-gzip`
///   with all their members, `deflate` with and without zlib's frame, `br`, `zstd` with all its frames, and several of them
///   one upon the other.
/// - The response then has neither Content-Encoding nor Content-Length; ``CurlewResponse/contentCodings`` and
///   ``CurlewResponse/encodedFields`` have what was there.
/// - Nothing is decoded in answers to HEAD, in 204, 206 and 304, in empty bodies, and if one of the codings is not known:
///   these pass as they came, with their fields.
/// - `br` needs the package's trait `Brotli`, `zstd` the trait `Zstandard`; both are on by default. Without it the coding is
///   not announced and is not known.
/// - ``RequestOptions/decodesContent`` set to false neither announces nor decodes.
///
/// Reading the body throws ``CurlewError`` with ``ErrorCode/contentDecodingFailed`` if it is corrupt or something follows its
/// end, with ``ErrorCode/responseTruncated`` if it is cut short, and with ``ErrorCode/responseTooLarge`` beyond ``limits``.
/// What came before was handed out.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") { ContentDecoding() }
/// ```
public struct ContentDecoding: CurlewMiddleware {
    /// Bounds on what a body may become.
    public var limits: ContentDecoding.Limits

    public init(limits: ContentDecoding.Limits = ContentDecoding.Limits()) { self.limits = limits }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.options.decodesContent != false else { return try await next(request) }
        var announcing = request
        Self.announce(in: &announcing)
        let response = try await next(announcing)
        guard response.fields.contains(.contentEncoding) else { return response }
        return try decoded(response, to: request.method)
    }

    /// Announces the codings that are known, unless the request has a word on them, or wants a part of the coded bytes.
    static func announce(in request: inout CurlewRequest) {
        guard !request.fields.isEmpty else { return request.fields = announcements }
        if request.fields.contains(.acceptEncoding) || request.fields.contains(.range) { return }
        request.fields.append(announcement)
    }

    private static let announcements: HTTPFields = [announcement.name: announcement.value]
    private static let announcement = HTTPField(
        name: .acceptEncoding, value: ContentDecoderKind.allCases.map(\.name).joined(separator: ", "))

    /// The response with its body decoded, if it can be.
    func decoded(_ response: CurlewResponse, to method: HTTPRequest.Method) throws -> CurlewResponse {
        let isBodiless = method == .head || [204, 206, 304].contains(response.status.code)
        guard !isBodiless, response.body.length != 0 else { return response }
        let list = ContentCodingList(response.fields)
        guard let codings = ContentDecoderKind.all(of: list), !codings.isEmpty else { return response }
        let context = CurlewError.Context(
            method: method, uri: response.uri, stage: .receiving, response: response.head)
        guard codings.count <= limits.codings else {
            throw CurlewError(
                .contentDecodingFailed,
                "the body has \(codings.count) content codings, one upon the other",
                context: context)
        }
        var decoded = response
        decoded.encoded = EncodedContent(codings: list.names, takenFrom: &decoded.fields)
        let chunks = DecodedChunks(body: response.body, codings: codings, limits: limits, context: context)
        decoded.body = .stream(chunks, over: response.body)
        return decoded
    }
}

extension RequestOptions {
    private enum DecodesContentKey: Key {
        static let defaultValue: Bool? = nil
        static let affectsResponse = false
    }

    /// True if content codings are undone. nil, the default, is true where a value is wanted of the body, which ``ContentDecoding`` then
    /// decodes after it has announced what it knows; and false where a file is: a download, and the serializer `.file`, ask for `identity`, and store
    /// what the server sends as it comes.
    public var decodesContent: Bool? {
        get { self[DecodesContentKey.self] }
        set { self[DecodesContentKey.self] = newValue }
    }
}

extension ContentDecoding {
    /// Bounds on what ``ContentDecoding`` makes of a body, against small ones that become very large.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most codings that may lie one upon the other. 5 by default; more are ``ErrorCode/contentDecodingFailed``.
        public var codings: Int
        /// The factor by which a body may become larger than what was received of it so far, once it is larger than
        /// ``ratioFreeSize``. 100 by default; nil for no such bound. Beyond it is ``ErrorCode/responseTooLarge``. It also holds
        /// for what lies between two codings.
        public var ratio: Int?
        /// Up to this size a body may grow as it likes. 64 MiB by default: logs and tables often shrink by more than a hundred.
        public var ratioFreeSize: ByteSize
        /// The most bytes that a decoded body may have. nil, the default, leaves this to whoever reads it. Beyond it is
        /// ``ErrorCode/responseTooLarge``.
        public var size: ByteSize?

        public init(
            codings: Int = 5, ratio: Int? = 100, ratioFreeSize: ByteSize = .mebibytes(64), size: ByteSize? = nil
        ) {
            self.codings = codings
            self.ratio = ratio
            self.ratioFreeSize = ratioFreeSize
            self.size = size
        }
    }
}

extension ContentDecoding.Limits {
    /// The most bytes that may be made of so many, at any place between the codings.
    func growth(of received: Int) -> Int {
        guard let ratio else { return .max }
        let (product, overflow) = max(0, ratio).multipliedReportingOverflow(by: received)
        return overflow ? .max : max(ratioFreeSize.bytes, product)
    }
}
