/// A number of bytes.
public struct ByteSize: Sendable, Hashable, Codable, Comparable, ExpressibleByIntegerLiteral {
    public var bytes: Int

    public init(_ bytes: Int) { self.bytes = bytes }

    public init(integerLiteral value: Int) { bytes = value }

    /// A multiple of 1,024 bytes. A product beyond the range of `Int` becomes the nearest bound.
    public static func kibibytes(_ count: Int) -> ByteSize { product(count, 1 << 10) }

    /// A multiple of 1,048,576 bytes. A product beyond the range of `Int` becomes the nearest bound.
    public static func mebibytes(_ count: Int) -> ByteSize { product(count, 1 << 20) }

    private static func product(_ count: Int, _ unit: Int) -> ByteSize {
        let (product, isTooLarge) = count.multipliedReportingOverflow(by: unit)
        return ByteSize(isTooLarge ? (count < 0 ? .min : .max) : product)
    }

    public static func < (left: ByteSize, right: ByteSize) -> Bool { left.bytes < right.bytes }
}
