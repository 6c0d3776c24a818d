internal import HTTPTypes

/// What a response's body is to be, put together from what the caller wants and what the response says of itself.
struct IntegrityCheck: Sendable {
    private let integrity: Integrity
    private let isPartial: Bool
    private let checksFields: Bool
    /// What is known before the body comes; the rest may be in its trailers.
    private(set) var digest: ContentDigest?

    init(_ integrity: Integrity, of response: Response) {
        self.integrity = integrity
        isPartial = response.status == .partialContent
        checksFields = integrity.checksFields && response.contentCodings.isEmpty
        digest = integrity.digest ?? fieldDigest(response.fields)
    }

    private func fieldDigest(_ fields: HTTPFields) -> ContentDigest? {
        checksFields ? ContentDigest(of: fields, isPartial: isPartial) : nil
    }

    /// The body has ended: its trailers may have what its head had not (RFC 9530 §2).
    mutating func take(trailers: HTTPFields) throws {
        digest = digest ?? fieldDigest(trailers)
        guard digest == nil, integrity.requiresDigest else { return }
        throw CurlewError(.digestMismatch, "the response has no digest that could be checked")
    }

    /// So many bytes have come, or will. An error as soon as it is known that they are not right.
    func check(count: Int64, isWhole: Bool) throws {
        guard let length = integrity.length, count > length || isWhole && count != length else { return }
        let size = isWhole ? "\(count)" : "more"
        throw CurlewError(.lengthMismatch, "the body has \(size) bytes, not the expected \(length)")
    }

    func check(_ actual: ContentDigest) throws {
        guard let digest, digest != actual else { return }
        throw CurlewError(
            .digestMismatch, "the \(digest.algorithm) digest of the body is \(actual), not the expected \(digest)")
    }
}
