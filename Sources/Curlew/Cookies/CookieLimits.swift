/// Bounds of a ``CookieJar``. Each cookie has at most 4,096 bytes of name and value, a path of at most 1,024 bytes and
/// a host of at most 1,024.
public struct CookieLimits: Sendable, Hashable, Codable {
    /// How many cookies one domain may have. 50 by default, the least that RFC 6265bis §6.1 asks for.
    public var perDomain: Int
    /// How many cookies the jar holds. 3,000 by default.
    public var total: Int
    /// The size of the Cookie field that a request may have from the jar; what does not fit is left out, beginning with the
    /// cookie that would come first beyond it. 8 KiB by default, which servers take as a rule.
    public var fieldSize: ByteCount
    /// The size of a file that is loaded. 16 MiB by default.
    public var fileSize: ByteCount
    /// How many changes wait for a listener that is behind; then the oldest are dropped. 1,000 by default.
    public var changeBufferSize: Int

    public init(
        perDomain: Int = 50, total: Int = 3000, fieldSize: ByteCount = .kibibytes(8),
        fileSize: ByteCount = .mebibytes(16), changeBufferSize: Int = 1000
    ) {
        self.perDomain = perDomain
        self.total = total
        self.fieldSize = fieldSize
        self.fileSize = fileSize
        self.changeBufferSize = changeBufferSize
    }
}
