public import Curlew
public import FoundationEssentials
public import HTTPTypes

/// The signature of requests to AWS and to servers with the S3 protocol: Signature Version 4 (`AWS4-HMAC-SHA256`).
///
/// Every function is pure: the moment is an argument. A signature is valid for minutes, so each attempt of a request
/// needs a new one.
///
/// - All fields of the request are signed, except fields that intermediaries change: Connection, Expect, User-Agent,
///   Transfer-Encoding, other fields of a single connection, and fields for tracing.
/// - The field Host is signed with the request's own Host field or else its authority, without the default port of the
///   scheme.
/// - For S3 the path is signed as requested, and an encoded slash counts as a slash. For other services the path is
///   encoded once more, and dot segments are removed.
/// - A plus in the query is signed as a space, for every service. Servers interpret it differently, so write `%20` or
///   `%2B`.
/// - The service `s3express` has its own field for the token of a session, `X-Amz-S3session-Token`.
///
/// ```swift
/// let signature = try AWSSignature(service: "s3", region: "eu-central-1")
/// let signed = try signature.signed(request, payload: .bytes(body), credential: credential, at: Date())
/// ```
public struct AWSSignature: Sendable, Hashable {
    /// The service's name in signatures: `s3`, `sts`, `execute-api`.
    public let service: String
    /// The region: `us-east-1`.
    public let region: String
    /// The rule by which the path is signed.
    public let pathRule: AWSSignature.PathRule
    /// True for the services of S3.
    let isS3: Bool

    /// - Parameters:
    ///   - service: The service's name in signatures.
    ///   - region: The region.
    ///   - pathRule: The rule by which the path is signed; nil selects ``PathRule/asRequested`` for the services of S3,
    ///     and ``PathRule/normalized`` for others.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a name that is empty or contains a
    ///   slash, a comma, a space or a character beyond ASCII.
    public init(service: String, region: String, pathRule: PathRule? = nil) throws(CurlewError) {
        for name in [service, region]
        where !name.isVisibleASCII || name.utf8.contains(.slash) || name.utf8.contains(.comma) {
            throw CurlewError(.invalidRequest, "the service or region of an AWS signature is no name: \(name)")
        }
        self.service = service
        self.region = region
        isS3 = Self.s3Services.contains { $0.hasSameBytes(as: service) }
        self.pathRule = pathRule ?? (isS3 ? .asRequested : .normalized)
    }

    private static let s3Services = ["s3", "s3express", "s3-object-lambda", "s3-outposts"]

    /// The rule by which the path of a request is signed.
    public enum PathRule: Sendable, Hashable {
        /// The rule of S3: each character is percent-encoded once. Dot segments and empty segments are kept.
        case asRequested
        /// The rule of other services: dot segments and empty segments are removed, and the path is percent-encoded
        /// once more.
        case normalized
    }

    /// The name of the field and of the parameter for the token of the credential.
    private var tokenName: HTTPField.Name {
        service.hasSameBytes(as: "s3express") ? .amzS3SessionToken : .amzSecurityToken
    }

    /// The request with `Authorization`, `X-Amz-Date`, and if necessary `X-Amz-Security-Token` and
    /// `X-Amz-Content-SHA256`. An earlier signature is removed from the fields and from the query.
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path.
    ///   - payload: The payload, in the form that the signature covers.
    ///   - credential: The key that signs.
    ///   - moment: The time of the signature by the server's clock.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a request without a host.
    public func signed(
        _ request: HTTPRequest, payload: Payload, credential: AWSCredential, at moment: Date
    ) throws(CurlewError) -> HTTPRequest {
        try sign(request, payload: payload, credential: credential, at: moment).request
    }

    /// The signed request, its signature and its scope. The first chunk of a payload in chunks covers the signature.
    func sign(
        _ request: HTTPRequest, payload: Payload, credential: AWSCredential, at moment: Date
    ) throws(CurlewError) -> (request: HTTPRequest, signature: String, scope: AWSScope) {
        let scope = AWSScope(self, CalendarTime(moment))
        let hash = try payload.text
        var request = Self.withoutSignature(request)
        if !payload.isInChunks { Self.removeChunks(&request.headerFields) }
        request.headerFields[.amzDate] = scope.time.compactText
        request.headerFields[tokenName] = credential.sessionToken
        if isS3 || payload.isNamed { request.headerFields[.amzContentSHA256] = hash }
        let canonical = try AWSCanonicalRequest(request, pathRule)
        let signature = try scope.sign(
            canonical.text(payload: hash), key: scope.signingKey(of: credential))
        request.headerFields[.authorization] = """
            AWS4-HMAC-SHA256 Credential=\(credential.accessKey)/\(scope.text), \
            SignedHeaders=\(canonical.signedNames), Signature=\(signature)
            """
        return (request, signature, scope)
    }

    /// The longest validity of a presigned URL: seven days.
    public static let longestValidity: Duration = .seconds(604_800)

    /// The request with the signature in its query, for a URL that is valid without a credential for some time.
    ///
    /// The user of the URL must send the fields of the request unchanged. For S3 the payload is not signed; for other
    /// services it must be empty.
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path.
    ///   - credential: The key that signs.
    ///   - moment: The beginning of the validity by the server's clock.
    ///   - validity: The time for which the URL is valid, in whole seconds, from 1 s to ``longestValidity``.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a request without a host, and for
    ///   a validity out of bounds.
    public func presigned(
        _ request: HTTPRequest, credential: AWSCredential, at moment: Date, validity: Duration
    ) throws(CurlewError) -> HTTPRequest {
        guard validity >= .seconds(1), validity <= Self.longestValidity else {
            throw CurlewError(.invalidRequest, "a presigned URL is valid from 1 second to 7 days")
        }
        let scope = AWSScope(self, CalendarTime(moment))
        var request = Self.withoutSignature(request)
        let signedNames = try AWSCanonicalRequest(request, pathRule).signedNames
        var parameters = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", "\(credential.accessKey)/\(scope.text)"),
            ("X-Amz-Date", scope.time.compactText),
            ("X-Amz-Expires", "\(validity.components.seconds)"),
            ("X-Amz-SignedHeaders", signedNames),
        ]
        if let token = credential.sessionToken { parameters.append((tokenName.rawName, token)) }
        let query = parameters.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let own = request.path ?? "/"
        let target = own + (own.utf8.contains(.questionMark) ? own.utf8.last == .questionMark ? "" : "&" : "?") + query
        request.path = target
        let payload: Payload = isS3 ? .unsigned : .empty
        let canonical = try AWSCanonicalRequest(request, pathRule)
        let signature = try scope.sign(
            canonical.text(payload: payload.text), key: scope.signingKey(of: credential))
        request.path = "\(target)&X-Amz-Signature=\(signature)"
        return request
    }

    /// The request without an earlier signature in its fields and its query.
    static func withoutSignature(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        for name in [HTTPField.Name.authorization, .amzDate, .amzSecurityToken, .amzS3SessionToken, .amzContentSHA256] {
            request.headerFields[name] = nil
        }
        request.path = request.path.map(targetWithoutSignature)
        return request
    }

    private static func targetWithoutSignature(_ target: String) -> String {
        let bytes = Array(target.utf8)
        guard let pathEnd = bytes.firstIndex(of: .questionMark) else { return target }
        let pairs = bytes[(pathEnd + 1)...].split(separator: .ampersand, omittingEmptySubsequences: false)
        let kept = pairs.filter { pair in
            !signatureParameters.contains { pair.prefix { $0 != .equals }.elementsEqual($0.utf8) }
        }
        guard kept.count < pairs.count else { return target }
        let query = kept.isEmpty ? [] : [.questionMark] + Array(kept.joined(separator: [.ampersand]))
        return String(decoding: bytes[..<pathEnd] + query, as: UTF8.self)
    }

    private static let signatureParameters = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders",
        "X-Amz-Security-Token", "X-Amz-S3session-Token", "X-Amz-Signature",
    ]

    /// Removes the fields that a payload in signed chunks has set.
    private static func removeChunks(_ fields: inout HTTPFields) {
        guard fields[.amzDecodedContentLength] != nil else { return }
        fields[.amzDecodedContentLength] = nil
        let others = otherCodings(fields)
        fields[.contentEncoding] = others.isEmpty ? nil : others.joined(separator: ",")
        fields[.contentLength] = nil
    }

    /// The content codings except `aws-chunked`.
    static func otherCodings(_ fields: HTTPFields) -> [String] {
        (fields[.contentEncoding] ?? "").utf8.split(separator: .comma)
            .map { String(decoding: $0.trimmingBlanks, as: UTF8.self) }
            .filter { !$0.isEmpty && $0.lowercasedASCII != "aws-chunked" }
    }
}

extension AWSSignature {
    /// The payload of a request, in the form that its signature covers.
    public struct Payload: Sendable, Hashable {
        private enum Kind: Hashable {
            case bytes([UInt8])
            case hash([UInt8])
            case unsigned
            case chunks
        }

        private let kind: Kind

        /// A payload in memory.
        public static func bytes(_ bytes: [UInt8]) -> Payload { Payload(kind: .bytes(bytes)) }

        /// A payload by its SHA-256 of 32 bytes.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a different length.
        public static func sha256(_ hash: [UInt8]) throws(CurlewError) -> Payload {
            guard hash.count == 32 else {
                throw CurlewError(.invalidRequest, "a SHA-256 has 32 bytes, not \(hash.count)")
            }
            return Payload(kind: .hash(hash))
        }

        /// An empty payload.
        public static let empty = Payload(kind: .bytes([]))
        /// A payload that the signature does not cover: `UNSIGNED-PAYLOAD`. Only TLS protects it, so it is for `https`
        /// only.
        public static let unsigned = Payload(kind: .unsigned)
        /// A payload in signed chunks, which ``AWSChunkSigner`` makes.
        static let chunks = Payload(kind: .chunks)

        /// True if the request must state how its payload is signed, for every service.
        var isNamed: Bool { kind == .unsigned || kind == .chunks }

        /// True for a payload in signed chunks.
        var isInChunks: Bool { kind == .chunks }

        /// The last line of a canonical request.
        var text: String {
            get throws(CurlewError) {
                switch kind {
                case .bytes(let bytes): try Hashing.sha256(bytes).hexadecimal
                case .hash(let hash): hash.hexadecimal
                case .unsigned: "UNSIGNED-PAYLOAD"
                case .chunks: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
                }
            }
        }
    }
}

/// Descriptions contain no bytes of a payload.
extension AWSSignature.Payload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        switch kind {
        case .bytes(let bytes): "payload of \(bytes.count) bytes"
        case .hash: "payload by its SHA-256"
        case .unsigned: "unsigned payload"
        case .chunks: "payload in signed chunks"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

extension HTTPField.Name {
    static let amzDate = Self("X-Amz-Date")!
    static let amzSecurityToken = Self("X-Amz-Security-Token")!
    static let amzS3SessionToken = Self("X-Amz-S3session-Token")!
    static let amzContentSHA256 = Self("X-Amz-Content-SHA256")!
    static let amzDecodedContentLength = Self("X-Amz-Decoded-Content-Length")!
}
