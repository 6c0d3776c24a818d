/// What a body must be, to be taken for whole. It is checked before the file gets its name; what differs is removed.
///
/// ```swift
/// let integrity = Integrity(digest: ContentDigest(hex: publishedDigest))
/// let file = try await response.save(to: .folder("/srv/inbox"), integrity: integrity)
/// ```
public struct Integrity: Sendable, Hashable {
    /// How many bytes are written. Where a content coding is undone these are the decoded ones.
    public var length: Int64?
    /// The digest of what is written.
    public var digest: ContentDigest?
    /// Whether Repr-Digest and Content-Digest of the response (RFC 9530) are checked, if they have a digest by SHA-256 or
    /// SHA-512 and ``digest`` is nil. True by default. They speak of the coded body: where ``ContentDecoding`` undoes its
    /// coding they are not checked.
    public var checksFields: Bool
    /// Whether a response without any digest that can be checked is refused. False by default: the fields are optional, and
    /// what cannot be read in them is as if it were not there.
    public var requiresDigest: Bool

    public init(
        length: Int64? = nil, digest: ContentDigest? = nil, checksFields: Bool = true, requiresDigest: Bool = false
    ) {
        self.length = length
        self.digest = digest
        self.checksFields = checksFields
        self.requiresDigest = requiresDigest
    }
}
