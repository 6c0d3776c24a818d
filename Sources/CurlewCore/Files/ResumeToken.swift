internal import HTTPTypes

/// The state of a cancelled or failed download, for resuming it in this process or a later one.
///
/// A token is in ``CurlewError/resumeToken``, is returned by ``DownloadTask/cancel()``, or is read from the file in
/// ``DownloadTask/Options/tokenFile``. Pass it to
/// ``HTTPSession/download(resuming:to:fields:download:options:progress:)``, or call ``discard()`` to delete the
/// received bytes.
///
/// The token contains no fields, no user information and no bytes of the file. It contains the URL with its query, so a
/// token for a signed URL is a secret. Fields that the request needs, such as Authorization, are passed again.
///
/// As JSON:
///
/// ```json
/// {
///   "version": 1,
///   "url": "https://example.com/a.iso", "finalURL": "https://mirror.example.com/a.iso",
///   "validator": {"entityTag": "\"5f-1\""},
///   "total": 8388608,
///   "destination": "/home/me/a.iso",
///   "part": {
///     "path": "/home/me/.a.iso.1x.part",
///     "device": 66307, "node": 1311, "size": 4096, "modifiedSeconds": 1730000000, "modifiedNanoseconds": 5
///   },
///   "received": [{"start": 0, "end": 4096, "sha256": "…64 digits…"}]
/// }
/// ```
///
/// `finalURL`, `total`, `destination` and `sha256` are optional. `end` is the first missing byte. `lastModified` may
/// replace `entityTag`. `codings` lists the content codings of the bytes, if there are any.
///
/// Decoding refuses tokens that cannot be valid, so a manipulated token cannot write to or remove other files:
/// - unknown versions and negative numbers;
/// - ranges out of order or beyond the total, gaps without `total`, and more than 1,024 ranges;
/// - more than 8 codings;
/// - paths that are relative, contain NUL or are longer than 4,095 bytes;
/// - a part file without a name of Curlew's form (`.….part`).
public struct ResumeToken: Sendable, Hashable {
    /// The newest supported version of the format.
    static let version = 1
    /// The most ranges that a token holds.
    package static let rangeLimit = 1024

    /// A range of received bytes.
    package struct Received: Sendable, Hashable {
        package var range: Range<Int64>
        /// The SHA-256 of the range, in hexadecimal. Without it, only an unchanged part file is resumed.
        package var sha256: String?

        package init(range: Range<Int64>, sha256: String? = nil) {
            self.range = range
            self.sha256 = sha256
        }
    }

    /// The requested URI, without user information.
    public let uri: CurlewURI
    /// The URI that returned the file, if redirects led to another one. A resumed request starts at ``uri``.
    public let finalURI: CurlewURI?
    /// The validator by which the server recognizes the same file.
    public let validator: ResumeToken.Validator
    /// The length of the complete file, if the server has declared it.
    public let total: Int64?
    /// The path of the file with the received bytes.
    public let partPath: String
    /// The path of the final file; nil if it was not determined.
    public let destination: String?
    package let identity: FileSnapshot
    package let received: [Received]
    /// The content codings of the bytes, in lower case and in the order of their application; usually none.
    package let codings: [String]

    /// The number of received bytes.
    public var receivedCount: Int64 { ByteRanges(received.map(\.range)).count }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken``.
    package init(
        uri: CurlewURI, finalURI: CurlewURI?, validator: ResumeToken.Validator, total: Int64?, partPath: String,
        destination: String?, identity: FileSnapshot, received: [Received], codings: [String] = []
    ) throws {
        self.uri = uri
        self.finalURI = finalURI
        self.validator = validator
        self.total = total
        self.partPath = partPath
        self.destination = destination
        self.identity = identity
        self.received = received
        self.codings = codings
        try check()
    }

    /// Deletes the received bytes. The token is useless afterwards.
    ///
    /// Only a file with the name of a part file is deleted, and only if no download uses it.
    public func discard() async {
        guard let part = try? await PartFile.reopen(partPath) else { return }
        await part.discard()
    }
}

extension ResumeToken {
    private func check() throws {
        guard uri.userInformation == nil, finalURI?.userInformation == nil else {
            throw Self.invalid("its URL has user information")
        }
        guard total ?? 0 >= 0, identity.size >= 0 else { throw Self.invalid("one of its numbers is negative") }
        guard received.count <= Self.rangeLimit else { throw Self.invalid("it has too many ranges") }
        guard ContentCodingList(codings).isKeepable else { throw Self.invalid("its content codings are not valid") }
        var position: Int64 = 0
        for piece in received {
            guard piece.range.lowerBound >= position, !piece.range.isEmpty, piece.range.upperBound <= total ?? .max - 1
            else { throw Self.invalid("its ranges overlap or exceed the complete length") }
            guard piece.sha256?.isHash ?? true else { throw Self.invalid("one of its hashes is not valid") }
            position = piece.range.upperBound
        }
        guard total != nil || received.count <= 1 && received.first?.range.lowerBound ?? 0 == 0 else {
            throw Self.invalid("it has gaps although the complete length is unknown")
        }
        guard position <= identity.size else { throw Self.invalid("its ranges reach beyond its part") }
        try checkPaths()
    }

    private func checkPaths() throws {
        for path in [partPath, destination].compactMap({ $0 }) {
            guard path.utf8.first == .slash, path.utf8.count < 4096, !path.utf8.contains(0) else {
                throw Self.invalid("one of its paths cannot be used")
            }
        }
        guard let name = (try? FilePlace(partPath))?.name.utf8, name.first == .dot,
            name.suffix(5).elementsEqual(".part".utf8), name.count > 6, !destination.hasSameBytes(as: partPath)
        else {
            throw Self.invalid("the name of its part file is not valid")
        }
    }

    package static func invalid(_ reason: String) -> CurlewError {
        CurlewError(.invalidResumeToken, "the token cannot be used: \(reason)")
    }
}

extension ResumeToken: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, url, finalURL, validator, total, destination, part, received, codings
    }

    private enum PartKeys: String, CodingKey { case path }

    private struct Piece: Codable {
        var start: Int64
        var end: Int64
        var sha256: String?
    }

    /// Decodes a token.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken`` or ``ErrorCode/invalidURL`` for a token that
    ///   cannot be used, and the decoder's errors for other data.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .version) == Self.version else {
            throw Self.invalid("its version is not known")
        }
        // The number of pieces is checked before they are decoded, so a refusal is cheap.
        var pieces = try container.nestedUnkeyedContainer(forKey: .received)
        if let count = pieces.count, count > Self.rangeLimit { throw Self.invalid("it has too many ranges") }
        var received: [Received] = []
        while !pieces.isAtEnd, received.count <= Self.rangeLimit {
            let piece = try pieces.decode(Piece.self)
            guard piece.start >= 0, piece.start < piece.end else {
                throw Self.invalid("one of its ranges is not valid")
            }
            received.append(Received(range: piece.start..<piece.end, sha256: piece.sha256))
        }
        let part = try container.nestedContainer(keyedBy: PartKeys.self, forKey: .part)
        try self.init(
            uri: try CurlewURI(try container.decode(String.self, forKey: .url)),
            finalURI: try container.decodeIfPresent(String.self, forKey: .finalURL).map { try CurlewURI($0) },
            validator: try container.decode(ResumeToken.Validator.self, forKey: .validator),
            total: try container.decodeIfPresent(Int64.self, forKey: .total),
            partPath: try part.decode(String.self, forKey: .path),
            destination: try container.decodeIfPresent(String.self, forKey: .destination),
            identity: try container.decode(FileSnapshot.self, forKey: .part),
            received: received, codings: try container.decodeIfPresent([String].self, forKey: .codings) ?? [])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(uri.description, forKey: .url)
        try container.encodeIfPresent(finalURI?.description, forKey: .finalURL)
        try container.encode(validator, forKey: .validator)
        try container.encodeIfPresent(total, forKey: .total)
        try container.encodeIfPresent(destination, forKey: .destination)
        try container.encode(Part(path: partPath, identity: identity), forKey: .part)
        let pieces = received.map { Piece(start: $0.range.lowerBound, end: $0.range.upperBound, sha256: $0.sha256) }
        try container.encode(pieces, forKey: .received)
        if !codings.isEmpty { try container.encode(codings, forKey: .codings) }
    }

    private struct Part: Encodable {
        let path: String
        let identity: FileSnapshot

        func encode(to encoder: any Encoder) throws {
            try identity.encode(to: encoder)
            var container = encoder.container(keyedBy: PartKeys.self)
            try container.encode(path, forKey: .path)
        }
    }
}

extension CurlewError.Context {
    private enum ResumeTokenKey: CurlewError.Key { typealias Value = ResumeToken }

    /// The token for resuming the download.
    package var resumeToken: ResumeToken? {
        get { self[ResumeTokenKey.self] }
        set { self[ResumeTokenKey.self] = newValue }
    }

    package init(method: HTTPRequest.Method? = nil, uri: CurlewURI? = nil, resumeToken: ResumeToken?) {
        self.init(method: method, uri: uri)
        self.resumeToken = resumeToken
    }
}

extension CurlewError {
    /// The token for resuming the failed or cancelled download; nil if it can only restart.
    public var resumeToken: ResumeToken? { context.resumeToken }
}

extension String {
    /// True if the text is a SHA-256 in lower-case hexadecimal.
    fileprivate var isHash: Bool {
        utf8.count == 64 && utf8.allSatisfy { $0.isDigit || (0x61...0x66).contains($0) }
    }
}
