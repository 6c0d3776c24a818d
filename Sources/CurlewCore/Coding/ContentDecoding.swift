internal import HTTPTypes

/// A link that announces the supported content codings, and decodes the bodies of responses (RFC 9110 §8.4).
///
/// - A request without Accept-Encoding and without Range gets `Accept-Encoding: gzip, deflate, br, zstd`. The caller's
///   own field is unchanged.
/// - A body is decoded as it is read, at most 64 KiB ahead of its reader, on the reader's executor. Supported are
///   `gzip` and `x-gzip` with all members, `deflate` with and without zlib's frame, `br`, `zstd` with all frames, and
///   combinations of them.
/// - The decoded response has neither Content-Encoding nor Content-Length; ``CurlewResponse/contentCodings`` and
///   ``CurlewResponse/encodedFields`` have the original values.
/// - Some responses are passed on unchanged, with their fields: responses to HEAD, 204, 206, 304, empty bodies, and
///   bodies with an unknown coding.
/// - `br` needs the package's trait `Brotli`, `zstd` the trait `Zstandard`; both are on by default. Without its trait,
///   a coding is unknown and is not announced.
/// - With ``RequestOptions/decodesContent`` set to false, codings are neither announced nor decoded.
///
/// Reading the body throws ``CurlewError`` with ``ErrorCode/contentDecodingFailed`` if it is corrupt or bytes follow
/// its end, with ``ErrorCode/responseTruncated`` if it ends too early, and with ``ErrorCode/responseTooLarge`` beyond
/// ``limits``. The bytes before the error were returned.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") { ContentDecoding() }
/// ```
public struct ContentDecoding: CurlewMiddleware {
    /// The limits of decoded bodies.
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

    /// Announces the supported codings, unless the request has its own field or requests a range of the coded bytes.
    static func announce(in request: inout CurlewRequest) {
        guard !request.fields.isEmpty else { return request.fields = announcements }
        if request.fields.contains(.acceptEncoding) || request.fields.contains(.range) { return }
        request.fields.append(announcement)
    }

    private static let announcements: HTTPFields = [announcement.name: announcement.value]
    private static let announcement = HTTPField(
        name: .acceptEncoding, value: ContentDecoderKind.allCases.map(\.name).joined(separator: ", "))

    /// The response with its body decoded, if possible.
    package func decoded(_ response: CurlewResponse, to method: HTTPRequest.Method) throws -> CurlewResponse {
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
        let chunks = DecodedChunks(
            body: response.body, codings: codings, limits: limits, context: context, rejection: response.rejection)
        decoded.body = .stream(chunks, over: response.body)
        return decoded
    }
}

extension CurlewResponse {
    private enum RejectionKey: Key { static let defaultValue: (@Sendable () async -> Void)? = nil }

    /// Removes the stored copy of a body that cannot be decoded. A cache sets it, because the copy would fail again.
    package var rejection: (@Sendable () async -> Void)? {
        get { self[RejectionKey.self] }
        set { self[RejectionKey.self] = newValue }
    }
}

extension RequestOptions {
    private enum DecodesContentKey: Key {
        static let defaultValue: Bool? = nil
        static let affectsResponse = false
    }

    /// True if content codings are decoded. nil, the default, depends on the use of the body.
    ///
    /// For a value, nil means true: ``ContentDecoding`` announces the supported codings and decodes the body. For a
    /// file, nil means false: a download and the serializer `.file` request `identity`, and store the bytes as the
    /// server sends them.
    public var decodesContent: Bool? {
        get { self[DecodesContentKey.self] }
        set { self[DecodesContentKey.self] = newValue }
    }
}

extension ContentDecoding {
    /// The limits of ``ContentDecoding``, against small bodies that become very large.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most codings of a body. 5 by default; more are ``ErrorCode/contentDecodingFailed``.
        public var codings: Int
        /// The largest ratio of decoded to received bytes, once a body is larger than ``ratioFreeSize``. 100 by
        /// default; nil means no limit. Beyond it, decoding fails with ``ErrorCode/responseTooLarge``. The limit also
        /// applies between two codings.
        public var ratio: Int?
        /// The size up to which the ratio is unlimited. 64 MiB by default, because logs and tables often have ratios
        /// above a hundred.
        public var ratioFreeSize: ByteSize
        /// The most bytes of a decoded body. nil, the default, leaves the limit to the reader. Beyond it, decoding
        /// fails with ``ErrorCode/responseTooLarge``.
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
    /// The most decoded bytes for a number of received bytes, after each of the codings.
    func growth(of received: Int) -> Int {
        guard let ratio else { return .max }
        let (product, overflow) = max(0, ratio).multipliedReportingOverflow(by: received)
        return overflow ? .max : max(ratioFreeSize.bytes, product)
    }
}
