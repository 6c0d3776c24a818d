/// The state of a resumable upload, for going on with it in this process or a later one.
///
/// It holds the URL that the server has given the upload, which is a secret where it is hard to guess, and no field and no byte of
/// the file. The file must be the same: one that has changed since is refused before a byte is sent.
///
/// As JSON:
///
/// ```json
/// {
///   "version": 1, "protocol": "ietf", "interop": 6,
///   "url": "https://example.com/files/5f1", "target": "https://example.com/files",
///   "offset": 4096, "length": 8388608,
///   "file": {"device": 66307, "node": 1311, "size": 8388608, "modifiedSeconds": 1730000000, "modifiedNanoseconds": 5}
/// }
/// ```
///
/// Reading refuses what cannot be one: unknown versions and protocols, offsets that are negative or beyond the length, URLs that are neither
/// http nor https, an upload over http that was created over https.
public struct UploadToken: Sendable, Hashable {
    static let version = 1

    /// Where the upload is.
    public let uri: CurlewURI
    /// Where it was created.
    public let target: CurlewURI
    /// The bytes that the server had, when it was last known.
    public let offset: Int64
    /// The bytes in all.
    public let length: Int64
    let dialect: UploadDialectName
    let identity: FileSnapshot

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken``.
    init(
        uri: CurlewURI, target: CurlewURI, offset: Int64, length: Int64, dialect: UploadDialectName,
        identity: FileSnapshot
    ) throws {
        self.uri = uri
        self.target = target
        self.offset = offset
        self.length = length
        self.dialect = dialect
        self.identity = identity
        guard (0...length).contains(offset), identity.size == length else {
            throw CurlewError(.invalidResumeToken, "its offset or its length cannot be")
        }
        for uri in [uri, target] where uri.scheme != "http" && uri.scheme != "https" {
            throw CurlewError(.invalidResumeToken, "its URL begins with neither http nor https")
        }
        guard target.scheme != "https" || uri.scheme == "https" else {
            throw CurlewError(.invalidResumeToken, "the upload is less secure than where it was created")
        }
    }

    func at(_ offset: Int64) throws -> UploadToken {
        try UploadToken(
            uri: uri, target: target, offset: offset, length: length, dialect: dialect, identity: identity)
    }
}

/// A protocol of resumable uploads, and its version.
enum UploadDialectName: Sendable, Hashable {
    /// draft-ietf-httpbis-resumable-upload, of an interop version.
    case draft(Int)
    /// tus 1.0.
    case tus

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
    /// What a resumable upload that has failed goes on with; nil if the server has nothing of it.
    public var uploadToken: UploadToken? { context[Context.UploadTokenKey.self] }
}

extension UploadToken: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, `protocol`, interop, url, target, offset, length, file
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
        default: throw CurlewError(.invalidResumeToken, "its protocol is not known")
        }
        try self.init(
            uri: CurlewURI(try container.decode(String.self, forKey: .url)),
            target: CurlewURI(try container.decode(String.self, forKey: .target)),
            offset: try container.decode(Int64.self, forKey: .offset),
            length: try container.decode(Int64.self, forKey: .length), dialect: dialect,
            identity: try container.decode(FileSnapshot.self, forKey: .file))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        switch dialect {
        case .draft(let interop):
            try container.encode("ietf", forKey: .protocol)
            try container.encode(interop, forKey: .interop)
        case .tus: try container.encode("tus", forKey: .protocol)
        }
        try container.encode(uri.description, forKey: .url)
        try container.encode(target.description, forKey: .target)
        try container.encode(offset, forKey: .offset)
        try container.encode(length, forKey: .length)
        try container.encode(identity, forKey: .file)
    }
}
