#if Storage || Postgres
public import Curlew
internal import CurlewPlatform
public import FoundationEssentials
public import HTTPTypes

extension DurableTransfer {
    /// The data and options of a transfer. They are stored on the disk, except for secrets: see ``fields``.
    ///
    /// ```swift
    /// var request = DurableTransfer.Request.download("https://example.com/disc.iso", to: .folder("/srv/mirror"))
    /// request.integrity = try .sha256(published)
    /// request.tags = ["nightly"]
    /// ```
    public struct Request: Sendable {
        /// The direction of the transfer, with its file.
        package enum Content: Sendable {
            case download(Destination)
            case upload(path: String, resumable: ResumableUpload.Dialect?)
        }

        /// The absolute URL, without user information.
        public let url: String
        /// The method; GET for a download.
        public let method: HTTPRequest.Method
        package let content: Content
        /// The fields of the request. Fields that are known to contain secrets (Authorization, Cookie and so on) are
        /// rejected unless ``storesSecrets`` is true. Use ``DurableSession/Options/authorization`` for them.
        public var fields = HTTPFields()
        /// True if secret fields are stored on the disk with the others. False by default.
        public var storesSecrets = false
        /// The required length and digest of a download.
        public var integrity = IntegrityRequirement()
        /// The number of connections that fetch parts of a download at the same time; see
        /// ``Curlew/DownloadTask/Options/segments``.
        public var segments = 1
        /// The priority among waiting transfers. Each step of priority is worth ten minutes of waiting, so that no
        /// transfer waits forever.
        public var priority = RequestOptions.Priority.normal
        /// Labels of the caller. ``DurableSession/Limits/perTag`` limits the number of concurrent transfers with the
        /// same tag. At most 16 tags of up to 100 bytes.
        public var tags: [String] = []
        /// The time before which the transfer is not started.
        public var notBefore: Date?
        /// The time at which a transfer that has not ended fails with ``Curlew/ErrorCode/totalTimeout``.
        public var deadline: Date?
        /// The number of failed attempts after which the transfer fails; nil uses ``DurableSession/Options/retries``.
        public var attempts: Int?
        /// The rate limit of the transfer. The session that runs the transfer limits the total rate.
        public var rateLimit: RateLimit?
        /// True if it is harmless to send an upload twice. nil, the default, depends on the method (RFC 9110 §9.2.2).
        ///
        /// If an attempt may have reached the server, an upload that is not idempotent fails with
        /// ``Curlew/ErrorCode/outcomeUnknown``.
        public var isIdempotent: Bool?

        /// A download into a file. A relative path is relative to the working directory of this process.
        public static func download(_ url: String, to destination: Destination) -> Request {
            Request(url: url, method: .get, content: .download(destination))
        }

        /// An upload of a file. The file must not change until the transfer has ended: an upload whose file has changed
        /// since it was enqueued fails without being sent. The file's name determines its media type unless the fields
        /// contain one.
        public static func upload(
            file path: String, to url: String, method: HTTPRequest.Method = .put
        ) -> Request {
            Request(url: url, method: method, content: .upload(path: path, resumable: nil))
        }

        /// An upload of a file by a protocol for resumable uploads; any process can resume it. The upload's URL from
        /// the server is stored on the disk; if it is hard to guess, it is a secret.
        public static func upload(
            file path: String, to url: String, resumable dialect: ResumableUpload.Dialect,
            method: HTTPRequest.Method = .post
        ) -> Request {
            Request(url: url, method: method, content: .upload(path: path, resumable: dialect))
        }

        private init(url: String, method: HTTPRequest.Method, content: Content) {
            self.url = url
            self.method = method
            self.content = content
        }
    }
}

extension DurableTransfer.Request {
    /// The destination of a download; nil for an upload.
    public var destination: Destination? {
        if case .download(let destination) = content { destination } else { nil }
    }

    /// The path of the file to upload; nil for a download.
    public var source: String? {
        if case .upload(let path, _) = content { path } else { nil }
    }

    /// The protocol of a resumable upload; nil for others.
    public var resumable: ResumableUpload.Dialect? {
        if case .upload(_, let dialect) = content { dialect } else { nil }
    }

    /// True if the request may be sent again after it may have reached the server.
    var mayBeRepeated: Bool { isIdempotent ?? (source == nil || method.isIdempotent || resumable == .tus) }

    static let tagLimit = 16
    static let fieldLimit = 64 << 10

    /// Validates the request and returns its URL.
    /// - Throws: ``Curlew/CurlewError`` for a request that can never be sent, or must not be stored.
    func validated() throws -> CurlewURI {
        let uri = try CurlewURI(url)
        guard uri.scheme == "http" || uri.scheme == "https" else {
            throw CurlewError(.unsupportedScheme, "the URL of a durable transfer begins with http or https")
        }
        guard uri.authority.firstIndex(of: "@") == nil, !hasUserInformation else {
            throw CurlewError(.invalidRequest, "the URL has user information, which is not kept on the disk")
        }
        if !storesSecrets, let secret = fields.first(where: { SecretFields.isSecret($0.name) }) {
            throw CurlewError(
                .invalidRequest,
                "\(secret.name) is a secret: give it by the session's authorization, or set storesSecrets")
        }
        for name in [HTTPField.Name.range, .ifRange] where fields.contains(name) {
            throw CurlewError(.invalidRequest, "a durable transfer sets the field \(name.rawName) itself")
        }
        guard fields.reduce(0, { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }) <= Self.fieldLimit else {
            throw CurlewError(.invalidRequest, "the fields have more than 64 KiB")
        }
        guard tags.count <= Self.tagLimit,
            tags.allSatisfy({ (1...100).contains($0.utf8.count) && !$0.utf8.contains { $0 < 0x20 } })
        else {
            throw CurlewError(
                .invalidRequest, "there are at most 16 tags, of 1 to 100 bytes without control characters")
        }
        if case .download(let destination) = content, destination.location == nil {
            throw CurlewError(
                .invalidDestination,
                "a closure does not outlive the process: a durable download goes to a file or a folder")
        }
        return uri
    }

    private var hasUserInformation: Bool {
        // Bytes are searched, because a user's name and a host may begin with a combining mark.
        let parts = url.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return false }
        return parts[2].prefix { !"/?#".utf8.contains($0) }.contains(UInt8(ascii: "@"))
    }
}

// MARK: Stored form

/// The stored form of a request: JSON, whose names are part of the schema.
struct StoredRequest: Codable, Sendable {
    var url: String
    var method: String
    var destination: String?
    var isFolder: Bool?
    var existing: Destination.ExistingFile?
    var createsFolders: Bool?
    var source: String?
    var sourceState: FileSnapshot?
    var resumable: String?
    var fields: [[String]]
    var storesSecrets: Bool
    var length: Int64?
    var digest: ContentDigest?
    var checksFields: Bool
    var requiresDigest: Bool
    var segments: Int
    var priority: Int
    var tags: [String]
    var notBefore: Int64?
    var deadline: Int64?
    var attempts: Int?
    var rateLimit: RateLimit?
    var isIdempotent: Bool?

    /// - Throws: ``Curlew/CurlewError`` for a request that cannot be stored.
    init(_ request: DurableTransfer.Request) throws {
        url = request.url
        method = request.method.rawValue
        switch request.content {
        case .download(let destination):
            guard let location = destination.location, !location.path.isEmpty else {
                throw CurlewError(.invalidDestination, "the path of the destination is empty")
            }
            self.destination = Destination.absolute(location.path)
            isFolder = location.isFolder
            existing = destination.existing
            createsFolders = destination.createsFolders
        case .upload(let path, let dialect):
            switch dialect {
            case .ietf: resumable = "ietf"
            case .tus: resumable = "tus"
            case .automatic: resumable = "automatic"
            case nil: break
            }
            source = Destination.absolute(path)
            sourceState = try FileSnapshot(statusOf: Destination.absolute(path), for: .sending)
        }
        fields = request.fields.map { [$0.name.rawName, $0.value] }
        storesSecrets = request.storesSecrets
        length = request.integrity.length
        digest = request.integrity.digest
        checksFields = request.integrity.checksFields
        requiresDigest = request.integrity.requiresDigest
        segments = min(max(request.segments, 1), 16)
        priority = request.priority.rawValue
        tags = request.tags
        notBefore = request.notBefore?.milliseconds
        deadline = request.deadline?.milliseconds
        attempts = request.attempts.map { max(1, $0) }
        rateLimit = request.rateLimit
        isIdempotent = request.isIdempotent
    }

    /// The request; nil if the stored form is invalid.
    var request: DurableTransfer.Request? {
        guard let method = HTTPRequest.Method(rawValue: method) else { return nil }
        var request: DurableTransfer.Request
        if let path = destination {
            var destination: Destination = isFolder == true ? .folder(path) : .file(path)
            destination.existing = existing ?? .fail
            destination.createsFolders = createsFolders ?? false
            destination.synchronizes = true
            request = .download(url, to: destination)
        } else if let source {
            switch resumable {
            case nil: request = .upload(file: source, to: url, method: method)
            case "ietf": request = .upload(file: source, to: url, resumable: .ietf, method: method)
            case "tus": request = .upload(file: source, to: url, resumable: .tus, method: method)
            case "automatic": request = .upload(file: source, to: url, resumable: .automatic, method: method)
            default: return nil
            }
        } else {
            return nil
        }
        for field in fields where field.count == 2 {
            if let name = HTTPField.Name(field[0]) { request.fields.append(HTTPField(name: name, value: field[1])) }
        }
        request.storesSecrets = storesSecrets
        request.integrity = IntegrityRequirement(
            length: length, digest: digest, checksFields: checksFields, requiresDigest: requiresDigest)
        request.segments = segments
        request.priority = RequestOptions.Priority(rawValue: priority)
        request.tags = tags
        request.notBefore = notBefore.map { Date(milliseconds: $0) }
        request.deadline = deadline.map { Date(milliseconds: $0) }
        request.attempts = attempts
        request.rateLimit = rateLimit
        request.isIdempotent = isIdempotent
        return request
    }
}

extension Date {
    /// Milliseconds since 1970, within the bounds of databases and clocks.
    var milliseconds: Int64 {
        let value = timeIntervalSince1970 * 1000
        return value.isFinite ? Int64(min(max(value, -1e15), 1e15)) : (value > 0 ? 1_000_000_000_000_000 : 0)
    }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
#endif
