internal import HTTPTypes

/// The state of a download that was cancelled or failed, for resuming it in this process or a later one.
///
/// It is found in ``CurlewError/resumeToken``, comes from ``DownloadTask/cancel()``, or is read from the file that
/// ``DownloadTask/Options/tokenFile`` named. Give it to ``HTTPSession/download(resuming:to:fields:download:options:progress:)``, or discard
/// the bytes that have come with ``discard()``.
///
/// It holds no field, no user information and no byte of the file; but it holds the URL with its query, so a URL that is
/// signed is a secret in it too. The fields that the request needs, such as Authorization, are given again.
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
/// `finalURL`, `total`, `destination` and `sha256` may be absent; `end` is the first byte that is not there; in place of
/// `entityTag` there may be `lastModified`, and `codings` lists the content codings of the bytes, if they have any. Reading refuses what cannot be one: unknown versions, negative numbers, ranges
/// out of order or beyond the whole, more than 8 codings, gaps where no `total` is, more than 1,024 ranges, paths that are relative, hold NUL or are longer than 4,095
/// bytes, a part whose name is none that Curlew gives (`.….part`), so that a token that was tampered with cannot make other
/// files be written to or removed.
public struct ResumeToken: Sendable, Hashable {
    /// The newest form that is known.
    static let version = 1
    /// The most ranges that a token holds.
    static let rangeLimit = 1024

    /// Bytes of the file that have come.
    struct Received: Sendable, Hashable {
        var range: Range<Int64>
        /// Their SHA-256, in hexadecimal. Without it only a part file that nobody has touched is resumed.
        var sha256: String?
    }

    /// What was asked for, without user information.
    public let uri: CurlewURI
    /// What answered in the end, if redirects led elsewhere. The request begins again at ``uri``.
    public let finalURI: CurlewURI?
    /// The sign by which the server still has the same file.
    public let validator: ResumeToken.Validator
    /// The length of the whole file, if the server has said it.
    public let total: Int64?
    /// Where the bytes lie that have come.
    public let partPath: String
    /// Where the file goes; nil if that was never found out.
    public let destination: String?
    let identity: FileSnapshot
    let received: [Received]
    /// The content codings of the bytes, in lower case and in the order in which they were applied; mostly none.
    let codings: [String]

    /// The number of bytes that have come.
    public var receivedCount: Int64 { ByteRanges(received.map(\.range)).count }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken``.
    init(
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

    /// Removes the bytes that have come. The token is of no use afterwards.
    ///
    /// Only a file with the name of a part is removed, and none that a download is at.
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
        guard total ?? 0 >= 0, identity.size >= 0 else { throw Self.invalid("a number of it is negative") }
        guard received.count <= Self.rangeLimit else { throw Self.invalid("it has too many ranges") }
        guard ContentCodingList(codings).isKeepable else { throw Self.invalid("its content codings cannot be") }
        var position: Int64 = 0
        for piece in received {
            guard piece.range.lowerBound >= position, !piece.range.isEmpty, piece.range.upperBound <= total ?? .max - 1
            else { throw Self.invalid("its ranges overlap or reach beyond the whole") }
            guard piece.sha256?.isHash ?? true else { throw Self.invalid("a hash of it is none") }
            position = piece.range.upperBound
        }
        guard total != nil || received.count <= 1 && received.first?.range.lowerBound ?? 0 == 0 else {
            throw Self.invalid("it has gaps in a whole of unknown length")
        }
        guard position <= identity.size else { throw Self.invalid("its ranges reach beyond its part") }
        try checkPaths()
    }

    private func checkPaths() throws {
        for path in [partPath, destination].compactMap({ $0 }) {
            guard path.utf8.first == .slash, path.utf8.count < 4096, !path.utf8.contains(0) else {
                throw Self.invalid("a path of it cannot be used")
            }
        }
        let name = partPath.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard name.hasPrefix("."), name.hasSuffix(".part"), name.utf8.count > 6, partPath != destination else {
            throw Self.invalid("its part has a name that no part has")
        }
    }

    static func invalid(_ reason: String) -> CurlewError {
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

    /// Reads a token.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken`` or ``ErrorCode/invalidURL`` for what is no token that can
    ///   be used, and the decoder's errors for what is none at all.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .version) == Self.version else {
            throw Self.invalid("its version is not known")
        }
        // Before the decoding of many pieces, so that it costs little to refuse them.
        var pieces = try container.nestedUnkeyedContainer(forKey: .received)
        if let count = pieces.count, count > Self.rangeLimit { throw Self.invalid("it has too many ranges") }
        var received: [Received] = []
        while !pieces.isAtEnd, received.count <= Self.rangeLimit {
            let piece = try pieces.decode(Piece.self)
            guard piece.start >= 0, piece.start < piece.end else { throw Self.invalid("a range of it is none") }
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

    /// The token that a download can be resumed with.
    var resumeToken: ResumeToken? {
        get { self[ResumeTokenKey.self] }
        set { self[ResumeTokenKey.self] = newValue }
    }

    init(method: HTTPRequest.Method? = nil, uri: CurlewURI? = nil, resumeToken: ResumeToken?) {
        self.init(method: method, uri: uri)
        self.resumeToken = resumeToken
    }
}

extension CurlewError {
    /// The token that a download which failed or was cancelled can be resumed with; nil if it can only restart.
    public var resumeToken: ResumeToken? { context.resumeToken }
}

extension String {
    /// True if it is a SHA-256 in lower-case hexadecimal.
    fileprivate var isHash: Bool {
        utf8.count == 64 && utf8.allSatisfy { $0.isDigit || (0x61...0x66).contains($0) }
    }
}
