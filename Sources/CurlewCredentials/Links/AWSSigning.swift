public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// Signs requests to AWS, and to servers that speak S3, by Signature Version 4.
///
/// - The link stands behind ``Curlew/StandardChain``, so that every attempt is signed anew: after a retry, a redirect and a renewal.
/// - Only requests to the given origins are signed. A request with an `Authorization` field of its own is left alone.
/// - A credential is asked for once for all requests, and anew from five minutes before its end on. A request that is refused
///   because its credential has ended is signed once more with a new one.
/// - A request that is refused because of its time is signed once more by the server's clock, and later requests too. A
///   difference of more than 24 hours is not believed.
/// - Nothing is sent again whose body can be read only once.
///
/// ```swift
/// let signature = try AWSSignature(service: "s3", region: "eu-central-1")
/// let link = try AWSSigning(signature, for: "https://s3.eu-central-1.amazonaws.com", credentials: .standard)
/// let s3 = try HTTPSession(baseURL: "https://s3.eu-central-1.amazonaws.com/") {
///     StandardChain()
///     link
/// }
/// ```
/// Copies of the link share the credential and the time.
public struct AWSSigning: CurlewMiddleware {
    /// The way in which signatures cover the body of a request.
    public struct BodyRule: Sendable, Hashable {
        enum Kind: Hashable {
            case hashed
            case unsigned
            case chunks(Int)
        }

        let kind: Kind

        /// The signature covers the hash of the body, which is read once for that before it is sent. A body that can be read
        /// only once is ``Curlew/ErrorCode/bodyNotReplayable``.
        public static let hashed = BodyRule(kind: .hashed)
        /// The signature does not cover the body. TLS alone protects it, so requests over `http` are refused
        /// (``Curlew/ErrorCode/invalidRequest``).
        public static let unsigned = BodyRule(kind: .unsigned)
        /// The body is sent in chunks that are signed while it is read, as S3 has it. Its length has to be known
        /// (``Curlew/ErrorCode/invalidRequest``). Requests without a body are signed as with ``hashed``.
        /// - Parameter size: The size of a chunk in bytes: from 8 KiB to 16 MiB.
        public static func chunks(of size: ByteSize = .kibibytes(64)) -> BodyRule {
            BodyRule(kind: .chunks(size.bytes))
        }
    }

    /// The way in which signatures cover the body of a request.
    public var bodyRule = BodyRule.hashed
    /// The origins whose requests are signed.
    public let origins: Set<String>
    private let signature: AWSSignature
    private let store: CredentialStore<AWSCredential>
    private let offset = Guarded(Duration.zero)
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - signature: The service and the region.
    ///   - origins: URLs with scheme, host and port of the servers whose requests are signed.
    ///   - credentials: The source of the credential.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL`` or ``Curlew/ErrorCode/unsupportedScheme``.
    public init(_ signature: AWSSignature, for origins: String..., credentials: AWSCredentialSource) throws {
        try self.init(signature, for: origins, credentials: credentials, now: { Date() })
    }

    init(
        _ signature: AWSSignature, for origins: [String], credentials: AWSCredentialSource,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.signature = signature
        self.origins = Set(try origins.map { try CurlewURI($0).origin })
        self.now = now
        store = CredentialStore(
            initial: nil, window: Self.window, elapsed: Timekeeper(ContinuousClock()).elapsed,
            lifetime: { credential in
                credential.expiration.map { .seconds($0.timeIntervalSince(now())) }
            },
            renew: { _ in try await credentials.credential() })
    }

    /// The time before its end in which a credential is not used any more.
    private static let window = Duration.seconds(300)

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard origins.contains(request.uri.origin), request.fields[.authorization] == nil else {
            return try await next(request)
        }
        let issue = try await store.current()
        let response = try await next(signed(request, issue.value))
        guard [400, 401, 403].contains(response.status.code), request.body.isReplayable else { return response }
        let (refusal, kept) = try await refusal(of: response, request, issue.value)
        switch refusal {
        case .time(let difference):
            offset.withLock { $0 = difference }
            return try await next(signed(request, issue.value))
        case .credential:
            guard store.isCurrent(issue) else { return kept }
            let renewed = try await store.renewed(after: issue)
            return try await next(signed(request, renewed.value))
        case nil: return kept
        }
    }

    /// Drops the credential: the source is asked for the next request. Copies of the link share this.
    public func forget() { store.forget() }

    // MARK: Signing

    private var moment: Date { now().addingTimeInterval(offset.withLock { $0 } / .seconds(1)) }

    private func signed(_ request: CurlewRequest, _ credential: AWSCredential) async throws -> CurlewRequest {
        do {
            return try await sign(request, credential)
        } catch let error as CurlewError {
            throw error.adding(request)
        }
    }

    private func sign(_ request: CurlewRequest, _ credential: AWSCredential) async throws -> CurlewRequest {
        var signed = request
        let head: HTTPRequest
        switch bodyRule.kind {
        case .chunks(let size) where !request.body.isNone:
            (head, signed.body) = try chunks(of: request, size, credential)
        case .unsigned where !request.body.isNone:
            guard request.uri.scheme == "https" else {
                throw CurlewError(.invalidRequest, "a body that no signature covers is sent over https alone")
            }
            head = try signature.signed(request.head, payload: .unsigned, credential: credential, at: moment)
        case .hashed, .unsigned, .chunks:
            let hash = try await request.body.sha256(hint: "BodyRule.unsigned or chunks(of:) reads it once")
            head = try signature.signed(request.head, payload: .sha256(hash), credential: credential, at: moment)
        }
        signed.fields = head.headerFields
        let secretNames = [HTTPField.Name.authorization, .amzSecurityToken, .amzS3SessionToken]
        for name in secretNames where signed.fields[name] != nil { signed.grantSecret(name) }
        return signed
    }

    private func chunks(
        of request: CurlewRequest, _ size: Int, _ credential: AWSCredential
    ) throws -> (HTTPRequest, CurlewRequest.Body) {
        guard let length = try request.body.lengthNow() else {
            throw CurlewError(.invalidRequest, "a body in signed chunks needs a length")
        }
        let (head, signer) = try signature.signedInChunks(
            request.head, length: length, chunkSize: size, credential: credential, at: moment)
        let framedLength = AWSChunkSigner.contentLength(of: length, chunkSize: size)
        let body = request.body
        let make: @Sendable () async throws -> SignedChunks = {
            SignedChunks(base: try await body.stream(), signer: signer)
        }
        guard !body.isReplayable else { return (head, .stream(length: framedLength, make)) }
        return (head, .once(length: framedLength, DeferredChunks(make: make)))
    }

    // MARK: Refusals

    private enum Refusal {
        case time(Duration)
        case credential
    }

    /// The reason of a refusal, if another signature helps, and the response with its body.
    ///
    /// The body is read only where it could name such a reason: the clocks differ, or the credential is one that ends.
    private func refusal(
        of response: CurlewResponse, _ request: CurlewRequest, _ credential: AWSCredential
    ) async throws -> (Refusal?, CurlewResponse) {
        let moment = moment
        let difference = AWSSignature.clockOffset(
            from: response.head, errorCode: "RequestTimeTooSkewed", at: moment)
        let mayBeTime = difference.map { $0 >= .seconds(Self.skew) || $0 <= .seconds(-Self.skew) } ?? false
        guard mayBeTime || credential.sessionToken != nil else { return (nil, response) }
        var kept = response
        let body = try await response.body.collect(upTo: .mebibytes(1))
        kept.body = .bytes(body)
        // The answer to HEAD has no code: its time alone tells.
        let code =
            response.fields[.amznErrorType] ?? AWSErrorCode.code(in: body)
            ?? (request.method == .head ? "AccessDenied" : nil)
        guard let code else { return (nil, kept) }
        if AWSErrorCode.isExpired(code), credential.sessionToken != nil { return (.credential, kept) }
        guard let offset = AWSSignature.clockOffset(from: response.head, errorCode: code, at: now()), mayBeTime else {
            return (nil, kept)
        }
        return (.time(offset), kept)
    }

    /// The least difference of clocks, in seconds, that a refusal may be about.
    private static let skew: Int64 = 60
}

/// The codes of errors in the bodies of responses.
enum AWSErrorCode {
    /// The code of an error in XML (`<Code>…</Code>`) or in JSON (`"__type": "…"`, `"code": "…"`).
    static func code(in body: [UInt8]) -> String? {
        if let data = try? JSONDecoder().decode(Members.self, from: Data(body)) { return data.type ?? data.code }
        let (start, end) = (Array("<Code>".utf8), Array("</Code>".utf8))
        guard let from = body.firstRange(of: start)?.upperBound,
            let length = body[from...].prefix(128).firstRange(of: end)
        else { return nil }
        return String(decoding: body[from..<length.lowerBound], as: UTF8.self)
    }

    private struct Members: Decodable {
        var type: String?
        var code: String?

        private enum CodingKeys: String, CodingKey {
            case type = "__type"
            case code
        }
    }

    /// True for the codes of a temporary credential that has ended.
    static func isExpired(_ code: String) -> Bool {
        ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"].contains {
            code.hasSameBytes(as: $0) || code.utf8.reversed().starts(with: "#\($0)".utf8.reversed())
        }
    }
}
