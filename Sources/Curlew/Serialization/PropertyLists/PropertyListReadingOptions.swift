/// Bounds on property lists. They are checked before the list is decoded.
public struct PropertyListReadingOptions: Sendable, Hashable {
    /// How deep arrays and dictionaries may be nested. 512 by default, and at most.
    public var maximumDepth = 512 {
        didSet { maximumDepth = min(max(maximumDepth, 1), 512) }
    }
    /// How large a binary list may become when every reference in it is followed: its values refer to each other by number,
    /// so a few bytes can stand for any amount. 256 MiB by default, with 16 bytes for each value besides its content.
    public var expandedSize: ByteCount = .mebibytes(256)

    public init() {}
}
