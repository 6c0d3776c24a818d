internal import Curlew
internal import FoundationEssentials

/// The day, region and service that a signing key is derived for.
struct AWSScope: Hashable, Sendable {
    let time: CalendarTime
    private let region: String
    private let service: String

    init(_ signature: AWSSignature, _ time: CalendarTime) {
        self.time = time
        region = signature.region
        service = signature.service
    }

    /// The text of the scope: `20150830/us-east-1/iam/aws4_request`.
    var text: String { "\(time.compactDay)/\(region)/\(service)/aws4_request" }

    func signingKey(of credential: AWSCredential) throws(CurlewError) -> SecretBytes {
        var key = credential.secret
        for part in [time.compactDay, region, service, "aws4_request"] {
            key = try key.withBytes { (bytes) throws(CurlewError) in
                var next = try Hashing.hmacSHA256(part, key: bytes)
                defer { next.cleanse() }
                return SecretBytes(next)
            }
        }
        return key
    }

    /// The signature of a canonical request.
    func sign(_ canonicalRequest: [UInt8], key: SecretBytes) throws(CurlewError) -> String {
        let hash = try Hashing.sha256(canonicalRequest).hexadecimal
        let text = "AWS4-HMAC-SHA256\n\(time.compactText)\n\(self.text)\n\(hash)"
        return try key.withBytes { (key) throws(CurlewError) in try Hashing.hmacSHA256(text, key: key).hexadecimal }
    }

    /// The signature of a chunk.
    /// - Parameters:
    ///   - previous: The signature of the previous chunk, or of the request.
    ///   - key: The signing key.
    func sign(chunk: [UInt8], after previous: String, key: SecretBytes) throws(CurlewError) -> String {
        let hash = try Hashing.sha256(chunk).hexadecimal
        let lines = [
            "AWS4-HMAC-SHA256-PAYLOAD", time.compactText, self.text, previous, Self.emptyHash, hash,
        ]
        return try key.withBytes { (key) throws(CurlewError) in
            try Hashing.hmacSHA256(lines.joined(separator: "\n"), key: key).hexadecimal
        }
    }

    /// The SHA-256 of an empty payload.
    private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}
