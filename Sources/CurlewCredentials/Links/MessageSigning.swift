public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// A link that signs requests by HTTP Message Signatures (RFC 9421).
///
/// - Place the link behind ``Curlew/StandardChain``, so that every attempt gets a new signature.
/// - Only requests to the given origin are signed.
/// - If the signer covers ``MessageSignature/Component/contentDigest``, the body is read once for its digest before it
///   is sent. A body that can be read only once fails with ``Curlew/ErrorCode/bodyNotReplayable``.
/// - If the signer covers Content-Length, the link sets it.
///
/// ```swift
/// let signer = try MessageSignature.Signer(
///     key: SigningKey(pem: pem), keyID: "client-1", components: [.method, .targetURI, .contentDigest])
/// let link = try MessageSigning(signer, for: "https://api.example.com")
/// ```
public struct MessageSigning: CurlewMiddleware {
    /// The origin whose requests are signed.
    public let origin: String
    private let signer: MessageSignature.Signer
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - signer: The signer.
    ///   - origin: A URL with the scheme, host and port of the server.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL`` or ``Curlew/ErrorCode/unsupportedScheme``.
    public init(_ signer: MessageSignature.Signer, for origin: String) throws {
        try self.init(signer, for: origin, now: { Date() })
    }

    init(_ signer: MessageSignature.Signer, for origin: String, now: @escaping @Sendable () -> Date) throws {
        self.origin = try CurlewURI(origin).origin
        self.signer = signer
        self.now = now
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.uri.origin == origin else { return try await next(request) }
        return try await next(signed(request))
    }

    private func signed(_ request: CurlewRequest) async throws -> CurlewRequest {
        var signed = request
        do {
            if signer.coversContent {
                let hash = try await request.body.sha256(
                    hint: "leave out Component.contentDigest, or send bytes or a file")
                signed.fields[.contentDigest] = ContentDigest(.sha256, bytes: hash)?.fieldValue
            }
            if signer.components.contains(.field(.contentLength)), let length = try request.body.lengthNow() {
                signed.fields[.contentLength] = "\(length)"
            }
            signed.fields = try signer.signed(signed.head, trailers: request.trailers, at: now()).headerFields
            // The names of the two fields count as secret, so another origin than the session's needs a grant.
            for name in [SignatureMembers.inputName, SignatureMembers.signatureName] { signed.grantSecret(name) }
            return signed
        } catch let error as CurlewError {
            throw error.adding(request)
        }
    }
}

/// A link that verifies the signatures of responses by HTTP Message Signatures (RFC 9421), and rejects all other
/// responses.
///
/// - Place the link innermost, behind ``MessageSigning``: it must see the request as it is sent, and the content before
///   its codings are decoded.
/// - If the verifier requires ``MessageSignature/Component/contentDigest``, the body is read completely, compared with
///   its digest, and returned from memory. Otherwise the body is not verified, and an intermediary may have changed it.
/// - Responses of other origins are not verified.
///
/// ```swift
/// let verifier = try MessageSignature.Verifier(
///     required: [.status, .contentDigest, .method.ofRequest, .targetURI.ofRequest])
/// let link = try MessageVerification(verifier, for: "https://api.example.com") { parameters in
///     keys[parameters.keyID ?? ""]
/// }
/// ```
public struct MessageVerification: CurlewMiddleware {
    /// The origin whose responses are verified.
    public let origin: String
    private let verifier: MessageSignature.Verifier
    private let contentLimit: ByteSize
    private let key: @Sendable (MessageSignature.Parameters) throws -> VerificationKey?
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - verifier: The rules for accepting signatures.
    ///   - origin: A URL with the scheme, host and port of the server.
    ///   - contentLimit: The largest body that is compared with its digest: 16 MiB. A larger body fails with
    ///     ``Curlew/ErrorCode/responseTooLarge``.
    ///   - key: Returns the key of a signature by its parameters, or nil to reject the signature.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL`` or ``Curlew/ErrorCode/unsupportedScheme``.
    public init(
        _ verifier: MessageSignature.Verifier, for origin: String, contentLimit: ByteSize = .mebibytes(16),
        key: @escaping @Sendable (MessageSignature.Parameters) throws -> VerificationKey?
    ) throws {
        try self.init(verifier, for: origin, contentLimit: contentLimit, now: { Date() }, key: key)
    }

    init(
        _ verifier: MessageSignature.Verifier, for origin: String, contentLimit: ByteSize = .mebibytes(16),
        now: @escaping @Sendable () -> Date,
        key: @escaping @Sendable (MessageSignature.Parameters) throws -> VerificationKey?
    ) throws {
        self.origin = try CurlewURI(origin).origin
        self.verifier = verifier
        self.contentLimit = contentLimit
        self.key = key
        self.now = now
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/signatureMissing`` or
    ///   ``Curlew/ErrorCode/signatureRejected``.
    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        var response = try await next(request)
        guard request.uri.origin == origin else { return response }
        var content: [UInt8]?
        if verifier.required.contains(where: \.isContentDigest) {
            let bytes = try await response.body.collect(upTo: contentLimit)
            content = bytes
        }
        do {
            let message = MessageSignature.Message(
                response.head, trailers: content == nil ? [:] : response.body.trailers, to: request.head)
            _ = try verifier.verify(message, content: content, at: now(), key: key)
        } catch {
            await response.discard()
            throw (error as? CurlewError)?.adding(request) ?? error
        }
        if let content {
            response.body = CurlewResponse.Body.bytes(content).adding(response.body.trailers)
        }
        return response
    }
}
