internal import HTTPTypes

/// The requirements for a complete body. They are checked before the file gets its name; a file that fails them is
/// removed.
///
/// ```swift
/// let file = try await response.save(to: .folder("/srv/inbox"), integrity: .sha256(publishedDigest))
/// ```
public struct IntegrityRequirement: Sendable, Hashable {
    /// The number of bytes in the file. A content coding that is kept counts in coded bytes, one that is undone in
    /// decoded bytes.
    public var length: Int64?
    /// The digest of the bytes in the file.
    public var digest: ContentDigest?
    /// True if Repr-Digest and Content-Digest of the response (RFC 9530) are checked, if they contain SHA-256 or
    /// SHA-512 and ``digest`` is nil. True by default. The fields describe the coded body, which a download stores;
    /// they are not checked where the coding is undone.
    public var checksFields: Bool
    /// True if a response without a digest that can be checked is refused. False by default, because the fields are
    /// optional. An unreadable digest counts as missing.
    public var requiresDigest: Bool

    public init(
        length: Int64? = nil, digest: ContentDigest? = nil, checksFields: Bool = true, requiresDigest: Bool = false
    ) {
        self.length = length
        self.digest = digest
        self.checksFields = checksFields
        self.requiresDigest = requiresDigest
    }

    /// The published SHA-256 of the bytes in the file: 64 hexadecimal digits, or Base 64.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for other text.
    public static func sha256(_ text: String) throws -> IntegrityRequirement { try digest(text, .sha256, "SHA-256") }

    /// The published SHA-512 of the bytes in the file: 128 hexadecimal digits, or Base 64.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for other text.
    public static func sha512(_ text: String) throws -> IntegrityRequirement { try digest(text, .sha512, "SHA-512") }

    private static func digest(
        _ text: String, _ algorithm: ContentDigest.Algorithm, _ name: String
    ) throws -> IntegrityRequirement {
        let read = (try? ContentDigest(hex: text)) ?? ContentDigest(algorithm, base64: text)
        guard let digest = read, digest.algorithm == algorithm else {
            throw CurlewError(.invalidRequest, "the digest to expect is no \(name): its length or its digits are wrong")
        }
        return IntegrityRequirement(digest: digest)
    }
}

/// The requirements for a response's body: the caller's, and those in the response.
package struct IntegrityCheck: Sendable {
    private let integrity: IntegrityRequirement
    private let isPartial: Bool
    private let checksFields: Bool
    /// The expected digest, as known before the body; its trailers may add one.
    package private(set) var digest: ContentDigest?
    /// The content coding as text for a message, with the note if the file contains coded bytes; empty for most bodies.
    private let coding: String

    package init(_ integrity: IntegrityRequirement, of response: CurlewResponse) {
        self.integrity = integrity
        isPartial = response.status == .partialContent
        checksFields = integrity.checksFields && response.contentCodings.isEmpty
        let (undone, kept) = (ContentCodingList(response.contentCodings), ContentCodingList(response.fields))
        if !undone.names.isEmpty {
            coding = " (of its content after the content coding \(undone.words) was undone)"
        } else {
            coding = kept.names.isEmpty ? "" : " (of its bytes as they came, with the content coding \(kept.words))"
        }
        digest = integrity.digest ?? fieldDigest(response.fields)
    }

    /// - Parameter response: The response to a request for a part or for everything. The check is for the complete
    ///   representation.
    package init(_ integrity: IntegrityRequirement, ofWhole response: CurlewResponse) {
        self.init(integrity, of: response.asWhole)
    }

    private func fieldDigest(_ fields: HTTPFields) -> ContentDigest? {
        checksFields ? ContentDigest(of: fields, isPartial: isPartial) : nil
    }

    /// Takes the digest from the trailers if the head had none (RFC 9530 §2).
    private mutating func take(trailers: HTTPFields) throws {
        digest = digest ?? fieldDigest(trailers)
        guard digest == nil, integrity.requiresDigest else { return }
        throw CurlewError(.digestMismatch, "the response has no digest that could be checked\(coding)")
    }

    /// Checks the number of bytes that have arrived or are declared, and throws as soon as it is known to be wrong.
    package func check(count: Int64, isWhole: Bool) throws {
        guard let length = integrity.length, count > length || isWhole && count != length else { return }
        let size = isWhole ? "\(count)" : "more"
        throw CurlewError(.lengthMismatch, "the body has \(size) bytes, not the expected \(length)\(coding)")
    }

    /// Checks a complete body that starts at the beginning of a file.
    /// - Returns: The digest, which was checked; nil if there was no expected digest.
    /// - Throws: ``CurlewError`` with ``ErrorCode/lengthMismatch`` or ``ErrorCode/digestMismatch``.
    package mutating func verify(_ part: PartFile, count: Int64, trailers: HTTPFields) async throws -> ContentDigest? {
        try check(count: count, isWhole: true)
        try take(trailers: trailers)
        guard let digest else { return nil }
        let actual = try await part.digest(of: digest.algorithm, in: 0..<count)
        guard digest == actual else {
            throw CurlewError(
                .digestMismatch,
                "the \(digest.algorithm) digest of the body is \(actual), not the expected \(digest)\(coding)")
        }
        return actual
    }
}

extension CurlewResponse {
    /// The response in the form of a response with the complete representation: fields that describe only its own
    /// content are removed. For a 416 these are all digests, as its representation is the error page.
    fileprivate var asWhole: CurlewResponse {
        guard status == .partialContent || status == .rangeNotSatisfiable else { return self }
        var whole = self
        whole.fields[.contentDigest] = nil
        if status == .partialContent {
            whole.head.status = .ok
        } else {
            whole.fields[.reprDigest] = nil
        }
        return whole
    }
}
