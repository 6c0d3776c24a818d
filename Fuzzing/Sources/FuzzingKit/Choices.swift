/// A source of choices from an input, most of them one byte each. Choices are taken from the end of the input, so that
/// its beginning stays text for a dictionary. When the input is used up, every further choice is the first possible
/// one.
public struct Choices {
    private var bytes: ArraySlice<UInt8>

    public init(_ input: [UInt8]) { bytes = input[...] }

    /// The bytes that no choice has taken yet.
    public var rest: [UInt8] { Array(bytes) }

    /// True if every further choice is the first one.
    public var isUsedUp: Bool { bytes.isEmpty }

    /// A byte of any value.
    public mutating func byte() -> UInt8 { bytes.popLast() ?? 0 }

    /// A number from 0 up to, but not including, a bound of at most 256.
    public mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

    /// A random Boolean.
    public mutating func flag() -> Bool { byte() & 1 == 1 }

    /// An element of some values.
    public mutating func one<Value>(of values: [Value]) -> Value { values[number(below: values.count)] }

    /// The next `count` bytes, or as many as are left.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        let taken = Array(bytes.suffix(count))
        bytes.removeLast(taken.count)
        return taken
    }

    /// A number of 64 bits.
    public mutating func word() -> UInt64 { bytes(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// A text of at most `limit` bytes, repaired to valid UTF-8.
    public mutating func text(upTo limit: Int) -> String {
        let length = number(below: limit + 1)
        return String(decoding: bytes(length), as: UTF8.self)
    }
}
