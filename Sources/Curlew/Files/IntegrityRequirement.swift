internal import HTTPTypes

/// The requirements on a body, to be taken for whole. It is checked before the file gets its name; what differs is removed.
///
/// ```swift
/// let file = try await response.save(to: .folder("/srv/inbox"), integrity: .sha256(publishedDigest))
/// ```
public struct IntegrityRequirement: Sendable, Hashable {
    /// The number of bytes that are written: the coded ones where a content coding is kept, the decoded ones where it is undone.
    public var length: Int64?
    /// The digest of what is written.
    public var digest: ContentDigest?
    /// True if Repr-Digest and Content-Digest of the response (RFC 9530) are checked, if they have a digest by SHA-256
    /// or SHA-512 and ``digest`` is nil. True by default. They speak of the coded body, as a download stores it; where its coding
    /// is undone they are not checked.
    public var checksFields: Bool
    /// True if a response without any digest that can be checked is refused. False by default: the fields are optional,
    /// and what cannot be read in them is as if it were not there.
    public var requiresDigest: Bool

    public init(
        length: Int64? = nil, digest: ContentDigest? = nil, checksFields: Bool = true, requiresDigest: Bool = false
    ) {
        self.length = length
        self.digest = digest
        self.checksFields = checksFields
        self.requiresDigest = requiresDigest
    }

    /// The SHA-256 of what is written, as it was published: 64 hexadecimal digits, or Base 64.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for text that is no such digest.
    public static func sha256(_ text: String) throws -> IntegrityRequirement { try digest(text, .sha256, "SHA-256") }

    /// The SHA-512 of what is written, as it was published: 128 hexadecimal digits, or Base 64.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for text that is no such digest.
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

/// The requirements on a response's body, put together from what the caller wants and what the response says of itself.
struct IntegrityCheck: Sendable {
    private let integrity: IntegrityRequirement
    private let isPartial: Bool
    private let checksFields: Bool
    /// What is known before the body comes; the rest may be in its trailers.
    private(set) var digest: ContentDigest?
    /// The content coding, and whether it is in the file, in words for a message; empty for most bodies.
    private let coding: String

    init(_ integrity: IntegrityRequirement, of response: CurlewResponse) {
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

    /// - Parameter response: The answer to a request for a part, or for the whole; the check is of the whole.
    init(_ integrity: IntegrityRequirement, ofWhole response: CurlewResponse) {
        self.init(integrity, of: response.asWhole)
    }

    private func fieldDigest(_ fields: HTTPFields) -> ContentDigest? {
        checksFields ? ContentDigest(of: fields, isPartial: isPartial) : nil
    }

    /// The body has ended, and its trailers may have what its head had not (RFC 9530 §2).
    private mutating func take(trailers: HTTPFields) throws {
        digest = digest ?? fieldDigest(trailers)
        guard digest == nil, integrity.requiresDigest else { return }
        throw CurlewError(.digestMismatch, "the response has no digest that could be checked\(coding)")
    }

    /// So many bytes have come, or will. An error as soon as it is known that they are not right.
    func check(count: Int64, isWhole: Bool) throws {
        guard let length = integrity.length, count > length || isWhole && count != length else { return }
        let size = isWhole ? "\(count)" : "more"
        throw CurlewError(.lengthMismatch, "the body has \(size) bytes, not the expected \(length)\(coding)")
    }

    /// Checks a body that is there, written from the beginning of a file.
    /// - Returns: Its digest, which was checked; nil if there was nothing to check it against.
    /// - Throws: ``CurlewError`` with ``ErrorCode/lengthMismatch`` or ``ErrorCode/digestMismatch``.
    mutating func verify(_ part: PartFile, count: Int64, trailers: HTTPFields) async throws -> ContentDigest? {
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
    /// The same as if it were the answer to a request for the whole: what it says of its content alone is left out. That is
    /// all that a 416 says, which has the representation of a refusal.
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
