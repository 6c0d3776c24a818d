/// A number of bytes.
public struct ByteSize: Sendable, Hashable, Codable, Comparable, ExpressibleByIntegerLiteral {
    public var bytes: Int

    public init(_ bytes: Int) { self.bytes = bytes }

    public init(integerLiteral value: Int) { bytes = value }

    /// A multiple of 1,024 bytes.
    public static func kibibytes(_ count: Int) -> ByteSize { ByteSize(count << 10) }

    /// A multiple of 1,048,576 bytes.
    public static func mebibytes(_ count: Int) -> ByteSize { ByteSize(count << 20) }

    public static func < (left: ByteSize, right: ByteSize) -> Bool { left.bytes < right.bytes }
}
