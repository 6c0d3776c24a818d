public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// A link that signs requests to AWS, and to servers with the S3 protocol, by Signature Version 4.
///
/// - Place the link behind ``Curlew/StandardChain``, so that every attempt gets a new signature, also after a retry, a
///   redirect and a renewal.
/// - Only requests to the given origins are signed. A request with its own `Authorization` field is not changed.
/// - One credential serves all requests, and is renewed five minutes before it expires. A request that is refused
///   because of an expired credential is signed once more with a new credential.
/// - A request that is refused because of its time is signed once more by the server's clock, which later requests use
///   too. A difference of more than 24 hours is ignored.
/// - A request whose body can be read only once is not sent again.
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
    /// The rule by which a signature covers the body of a request.
    public struct BodyRule: Sendable, Hashable {
        enum Kind: Hashable {
            case hashed
            case unsigned
            case chunks(Int)
        }

        let kind: Kind

        /// The signature covers the hash of the body. The body is read for the hash before it is sent. A body that can
        /// be read only once fails with ``Curlew/ErrorCode/bodyNotReplayable``.
        public static let hashed = BodyRule(kind: .hashed)
        /// The signature does not cover the body. Only TLS protects it, so requests over `http` are refused
        /// (``Curlew/ErrorCode/invalidRequest``).
        public static let unsigned = BodyRule(kind: .unsigned)
        /// The body is sent in signed chunks by the rules of S3. Each chunk is signed when it is read. The length of
        /// the body must be known (else ``Curlew/ErrorCode/invalidRequest``). Requests without a body are signed as
        /// with ``hashed``.
        /// - Parameter size: The size of a chunk in bytes: from 8 KiB to 16 MiB.
        public static func chunks(of size: ByteSize = .kibibytes(64)) -> BodyRule {
            BodyRule(kind: .chunks(size.bytes))
        }
    }

    /// The rule by which a signature covers the body of a request.
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
                // A source may return any date, and a duration has bounds.
                credential.expiration.map { .seconds(min(max(0, $0.timeIntervalSince(now())), Self.longestLifetime)) }
            },
            renew: { _ in try await credentials.credential() })
    }

    /// The time before its expiration at which a credential is renewed.
    private static let window = Duration.seconds(300)
    /// A hundred years, in seconds.
    private static let longestLifetime = 3_162_240_000.0

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
            await kept.discard()
            return try await next(signed(request, issue.value))
        case .credential:
            guard store.isCurrent(issue) else { return kept }
            let renewed = try await store.renewed(after: issue)
            await kept.discard()
            return try await next(signed(request, renewed.value))
        case nil: return kept
        }
    }

    /// Discards the credential, so that the next request asks the source. Copies of the link share this.
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

    /// The reason of a refusal, if another signature can succeed, and the response.
    ///
    /// The body is read only if it can contain such a reason: if the clocks differ, or if the credential is temporary.
    /// A body beyond 64 KiB is not the description of an error, and is returned as a stream.
    private func refusal(
        of response: CurlewResponse, _ request: CurlewRequest, _ credential: AWSCredential
    ) async throws -> (Refusal?, CurlewResponse) {
        let moment = moment
        let difference = AWSSignature.clockOffset(
            from: response.head, errorCode: "RequestTimeTooSkewed", at: moment)
        let mayBeTime = difference.map { $0 >= .seconds(Self.skew) || $0 <= .seconds(-Self.skew) } ?? false
        guard mayBeTime || credential.sessionToken != nil else { return (nil, response) }
        var kept = response
        var code = response.fields[.amznErrorType]
        if code == nil {
            let (bytes, body) = try await response.body.peeked(upTo: .kibibytes(64))
            kept.body = body
            code = bytes.flatMap(AWSErrorCode.code(in:))
        }
        // A response to HEAD has no code; only its time shows the reason.
        guard let code = code ?? (request.method == .head ? "AccessDenied" : nil) else { return (nil, kept) }
        if AWSErrorCode.isExpired(code), credential.sessionToken != nil { return (.credential, kept) }
        guard let offset = AWSSignature.clockOffset(from: response.head, errorCode: code, at: now()), mayBeTime else {
            return (nil, kept)
        }
        return (.time(offset), kept)
    }

    /// The smallest difference of clocks, in seconds, that can be the reason of a refusal.
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

    /// True for the codes of an expired temporary credential.
    static func isExpired(_ code: String) -> Bool {
        ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"].contains {
            code.hasSameBytes(as: $0) || code.utf8.reversed().starts(with: "#\($0)".utf8.reversed())
        }
    }
}
