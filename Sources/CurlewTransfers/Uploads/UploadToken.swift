public import FoundationEssentials

/// The state of a resumable upload, for continuing it in this process or a later one.
///
/// The token contains the URLs that the server has assigned to the upload; they are secrets if they are hard to guess.
/// It contains no fields and no bytes of the file. A file that has changed since is refused before a byte is sent.
///
/// As JSON:
///
/// ```json
/// {
///   "version": 1, "protocol": "ietf", "interop": 6, "target": "https://example.com/files", "length": 8388608,
///   "parts": [{"url": "https://example.com/files/5f1", "start": 0, "length": 8388608, "offset": 4096}],
///   "file": {"device": 66307, "node": 1311, "size": 8388608, "modifiedSeconds": 1730000000, "modifiedNanoseconds": 5}
/// }
/// ```
///
/// Decoding refuses tokens that cannot be valid: unknown versions and protocols, parts with gaps between them, and
/// offsets outside the length. It also refuses URLs that are neither http nor https, and an upload over http that was
/// created over https.
public struct UploadToken: Sendable, Hashable {
    static let version = 1
    static let partLimit = 10_000
    /// The most parts that are sent in parallel if each is a separate upload.
    static let parallelLimit = 64
    private static let tagLimit = 1024

    /// The URI at which the upload was created. The query of a presigned URL is omitted.
    public let target: CurlewURI
    /// The number of bytes of the file.
    public let length: Int64
    /// The time at which the server discards the upload, according to its last response.
    public internal(set) var expires: Date?
    var dialect: UploadDialectName
    let identity: FileSnapshot
    var parts: [UploadPart]

    /// The number of bytes that the server had at the last report.
    public var offset: Int64 { parts.reduce(0) { $0 + $1.offset } }
    /// The URI of the upload, or of its first part; nil for parts with presigned URLs.
    public var uri: CurlewURI? { parts.first?.uri }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken``.
    init(
        target: CurlewURI, length: Int64, expires: Date? = nil, dialect: UploadDialectName, identity: FileSnapshot,
        parts: [UploadPart]
    ) throws {
        self.target = target
        self.length = length
        self.expires = expires
        self.dialect = dialect
        self.identity = identity
        self.parts = parts
        guard identity.size == length, !parts.isEmpty else {
            throw CurlewError(.invalidResumeToken, "its length is not valid, or it has no parts")
        }
        var start: Int64 = 0
        for part in parts {
            guard part.start == start, part.length >= 0, part.length <= length - start,
                (0...part.length).contains(part.offset), (part.tag?.utf8.count ?? 0) <= Self.tagLimit
            else { throw CurlewError(.invalidResumeToken, "its parts do not cover the file") }
            start += part.length
        }
        guard start == length else { throw CurlewError(.invalidResumeToken, "its parts are shorter than the file") }
        for uri in [target] + parts.compactMap(\.uri) {
            guard uri.scheme == "http" || uri.scheme == "https" else {
                throw CurlewError(.invalidResumeToken, "its URL begins with neither http nor https")
            }
            guard target.scheme != "https" || uri.scheme == "https" else {
                throw CurlewError(.invalidResumeToken, "the URL of the upload is less secure than that of its creation")
            }
        }
        let most =
            switch dialect {
            case .draft, .undecided: 1
            case .tus: Self.parallelLimit
            case .multipart: Self.partLimit
            }
        guard parts.count <= most else {
            throw CurlewError(.invalidResumeToken, "it has more parts than its protocol allows")
        }
    }

    /// True if the token has something to continue.
    var isOfUse: Bool {
        if case .multipart = dialect { true } else { parts.contains { $0.uri != nil } }
    }
}

/// A part of a file, and the number of its bytes that a server has.
struct UploadPart: Sendable, Hashable, Codable {
    /// The offset of the part in the file.
    var start: Int64
    var length: Int64
    /// The URI that the part is sent to.
    var uri: CurlewURI?
    var offset: Int64 = 0
    /// The server's entity tag for the part.
    var tag: String?
    /// The SHA-256 of the part's bytes up to the offset.
    var digest: ContentDigest?

    init(start: Int64, length: Int64) {
        self.start = start
        self.length = length
    }

    private enum CodingKeys: String, CodingKey {
        case url, start, length, offset, tag, digest
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        start = try container.decode(Int64.self, forKey: .start)
        length = try container.decode(Int64.self, forKey: .length)
        offset = try container.decode(Int64.self, forKey: .offset)
        uri = try container.decodeIfPresent(String.self, forKey: .url).map { try CurlewURI($0) }
        tag = try container.decodeIfPresent(String.self, forKey: .tag)
        digest = try container.decodeIfPresent(ContentDigest.self, forKey: .digest)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(start, forKey: .start)
        try container.encode(length, forKey: .length)
        try container.encode(offset, forKey: .offset)
        try container.encodeIfPresent(uri?.description, forKey: .url)
        try container.encodeIfPresent(tag, forKey: .tag)
        try container.encodeIfPresent(digest, forKey: .digest)
    }

    /// Parts of about the same length.
    static func parts(of length: Int64, count: Int) -> [UploadPart] {
        let count = Int64(max(1, count))
        return (0..<count).map { index in
            let (start, end) = (length / count * index, index == count - 1 ? length : length / count * (index + 1))
            return UploadPart(start: start, length: end - start)
        }
    }
}

/// A protocol of resumable uploads, and its version.
enum UploadDialectName: Sendable, Hashable {
    /// An interop version of draft-ietf-httpbis-resumable-upload.
    case draft(Int)
    /// tus 1.0.
    case tus
    /// Parts by presigned URLs, as in S3. The server has assigned a name to the upload.
    case multipart(String)
    /// No protocol: the upload has not begun at the server. A token of this kind is never kept.
    case undecided

    static let draftVersions: Set<Int> = [3, 5, 6]
}

extension CurlewError.Context {
    fileprivate enum UploadTokenKey: CurlewError.Key {
        typealias Value = UploadToken
    }

    init(uploadToken: UploadToken?) {
        self.init()
        self[UploadTokenKey.self] = uploadToken
    }
}

extension CurlewError {
    /// The token for continuing a failed resumable upload; nil if the server has no part of the upload.
    public var uploadToken: UploadToken? { context[Context.UploadTokenKey.self] }
}

extension UploadToken: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, `protocol`, interop, upload, target, length, expires, parts, file
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw CurlewError(.invalidResumeToken, "the token's version is \(version), and \(Self.version) is known")
        }
        let dialect: UploadDialectName
        switch try container.decode(String.self, forKey: .protocol) {
        case "ietf":
            let interop = try container.decode(Int.self, forKey: .interop)
            guard UploadDialectName.draftVersions.contains(interop) else {
                throw CurlewError(.invalidResumeToken, "its interop version is not known")
            }
            dialect = .draft(interop)
        case "tus": dialect = .tus
        case "multipart": dialect = .multipart(try container.decode(String.self, forKey: .upload))
        default: throw CurlewError(.invalidResumeToken, "its protocol is not known")
        }
        try self.init(
            target: CurlewURI(try container.decode(String.self, forKey: .target)),
            length: try container.decode(Int64.self, forKey: .length),
            expires: try container.decodeIfPresent(Int64.self, forKey: .expires).map {
                Date(timeIntervalSince1970: Double($0))
            }, dialect: dialect, identity: try container.decode(FileSnapshot.self, forKey: .file),
            parts: try container.decode([UploadPart].self, forKey: .parts))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        switch dialect {
        case .draft(let interop):
            try container.encode("ietf", forKey: .protocol)
            try container.encode(interop, forKey: .interop)
        case .tus: try container.encode("tus", forKey: .protocol)
        case .multipart(let upload):
            try container.encode("multipart", forKey: .protocol)
            try container.encode(upload, forKey: .upload)
        case .undecided: throw CurlewError(.invalidResumeToken, "its upload has not begun")
        }
        try container.encode(target.description, forKey: .target)
        try container.encode(length, forKey: .length)
        try container.encodeIfPresent(expires.map { Int64($0.timeIntervalSince1970) }, forKey: .expires)
        try container.encode(parts, forKey: .parts)
        try container.encode(identity, forKey: .file)
    }
}

extension UploadToken {
    /// The most bytes that are read from a token's file.
    static let fileLimit: ByteSize = .mebibytes(4)

    /// Reads a token from the file in ``ResumableUpload/Options/tokenFile``.
    /// - Throws: ``CurlewError``: ``ErrorCode/resumeTokenFileFailed`` if the file is missing, larger than 4 MiB,
    ///   unreadable, or belongs to another user (root excepted); ``ErrorCode/invalidResumeToken`` if its content is not
    ///   a usable upload token.
    public init(contentsOf path: String) async throws {
        let bytes = try await TokenFile.read(path, upTo: Self.fileLimit)
        do {
            self = try JSONDecoder().decode(UploadToken.self, from: Data(bytes))
        } catch let error as CurlewError where error.code == .invalidResumeToken {
            throw error
        } catch {
            throw CurlewError(.invalidResumeToken, "the file holds no token of an upload", underlying: error)
        }
    }

    /// Writes the token into a file, and replaces an existing file in one step. Only the owner may read the file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resumeTokenFileFailed``.
    public func write(to path: String) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes: [UInt8]
        do { bytes = Array(try encoder.encode(self)) } catch {
            throw CurlewError(.resumeTokenFileFailed, "the token cannot be written", underlying: error)
        }
        try await TokenFile.write(bytes, to: path, synchronizes: false)
    }
}
