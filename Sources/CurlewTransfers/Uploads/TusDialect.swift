internal import FoundationEssentials
internal import HTTPTypes

/// The protocol tus 1.0.0 (tus.io/protocols/resumable-upload), with its extensions creation, creation-with-upload,
/// expiration, checksum, termination and concatenation.
struct TusDialect: UploadDialect {
    /// The greatest number of bytes in a creation. An interrupted creation loses them.
    private static let creationLimit: Int64 = 1 << 20

    var features = TusFeatures.none
    /// The pairs of Upload-Metadata, by key.
    var metadata: [String: String] = [:]
    /// True if the upload is a part of another upload.
    var isPart = false

    var name: UploadDialectName { .tus }

    private static let version: HTTPFields = [.tusResumable: "1.0.0"]

    var digests: [UploadDigest] {
        guard features.extensions.contains("checksum") else { return [] }
        return [("sha256", .sha256), ("sha1", .sha1)].filter { features.checksums.contains($0.0) }.map {
            (name: String, algorithm: MessageDigest.Algorithm) in
            UploadDigest(algorithm: algorithm, field: .uploadChecksum, prefix: "\(name) ", suffix: "")
        }
    }

    func creation(method: HTTPRequest.Method, length: Int64) -> UploadStep {
        var fields = Self.version
        fields[.uploadLength] = "\(length)"
        if isPart { fields[.uploadConcat] = "partial" } else { fields[.uploadMetadata] = metadataValue }
        let carriesBytes =
            features.extensions.contains("creation-with-upload") && !isPart && (1...Self.creationLimit).contains(length)
        if carriesBytes { fields[.contentType] = Self.mediaType }
        return UploadStep(method: .post, fields: fields, carriesBytes: carriesBytes)
    }

    private var metadataValue: String? {
        guard !metadata.isEmpty else { return nil }
        return metadata.sorted { $0.key < $1.key }.map { "\($0.key) \(Data($0.value.utf8).base64EncodedString())" }
            .joined(separator: ",")
    }

    func inquiry() -> UploadStep { UploadStep(method: .head, fields: Self.version) }
    func removal() -> UploadStep { UploadStep(method: .delete, fields: Self.version) }

    private static let mediaType = "application/offset+octet-stream"

    func append(from offset: Int64, isLast: Bool, length: Int64) -> UploadStep {
        var fields = Self.version
        fields[.uploadOffset] = "\(offset)"
        fields[.contentType] = Self.mediaType
        return UploadStep(method: .patch, fields: fields, carriesBytes: true)
    }

    /// The request that concatenates the parts.
    func concatenation(of uris: [CurlewURI]) -> UploadStep {
        var fields = Self.version
        fields[.uploadConcat] = "final;" + uris.map(\.description).joined(separator: " ")
        fields[.uploadMetadata] = metadataValue
        return UploadStep(method: .post, fields: fields)
    }

    func announcement(in interim: HTTPResponse) -> UploadAnnouncement? { nil }

    func outcome(of response: HTTPResponse, isCreation: Bool) throws -> UploadOutcome {
        guard response.status.kind == .successful else { return .refused }
        guard response.headerFields.contains(.tusResumable) else {
            if isCreation { return .unknown }
            throw CurlewError(.invalidResponse, "the answer is not one of tus")
        }
        let offset = try number(.uploadOffset, response)
        if isCreation {
            guard response.status == .created, let location = response.headerFields[.location] else {
                throw CurlewError(.invalidResponse, "the server created the upload, but did not send its URL")
            }
            return .incomplete(location: location, offset: offset ?? 0)
        }
        guard let offset else {
            throw CurlewError(.invalidResponse, "the server does not report the number of bytes that it has")
        }
        // The caller compares the offset with the length to detect the end.
        return .incomplete(location: nil, offset: offset)
    }

    func state(in response: HTTPResponse) throws -> UploadState? {
        guard response.status.kind == .successful, let offset = try number(.uploadOffset, response) else { return nil }
        return UploadState(offset: offset, isComplete: try number(.uploadLength, response) == offset)
    }

    func limits(in response: HTTPResponse) -> UploadLimits {
        UploadLimits(
            maximumSize: (try? number(.tusMaxSize, response)) ?? features.maximumSize,
            expires: response.headerFields[.uploadExpires].flatMap { HTTPDate($0) })
    }

    private func number(_ name: HTTPField.Name, _ response: HTTPResponse) throws -> Int64? {
        guard let value = response.headerFields[name] else { return nil }
        guard !value.isEmpty, value.utf8.allSatisfy(\.isDigit), let number = Int64(value) else {
            throw CurlewError(.invalidResponse, "\(name) is no number")
        }
        return number
    }
}

/// The features that a tus server declares in its response to OPTIONS.
struct TusFeatures: Sendable {
    static let none = TusFeatures()

    var extensions: Set<String> = []
    var checksums: Set<String> = []
    var maximumSize: Int64?

    private init() {}

    /// Parses the features; nil for a server without version 1.0.0.
    init?(_ response: HTTPResponse) {
        func words(_ name: HTTPField.Name) -> Set<String> {
            let values = response.headerFields[values: name]
            let elements: [Substring.UTF8View] = values.flatMap { $0.utf8.split(separator: .comma) }
            return Set(elements.map { word in String(decoding: word.filter { !$0.isBlank }, as: UTF8.self) })
        }
        guard words(.tusVersion).contains("1.0.0") else { return nil }
        extensions = words(.tusExtension)
        checksums = words(.tusChecksumAlgorithm)
        maximumSize = response.headerFields[.tusMaxSize].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}

extension HTTPField.Name {
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
    static let tusVersion = HTTPField.Name("Tus-Version")!
    static let tusExtension = HTTPField.Name("Tus-Extension")!
    static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
    static let uploadConcat = HTTPField.Name("Upload-Concat")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
}
