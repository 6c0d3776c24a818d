/// Makes decisions of an input, a byte for most. They are taken from its end, so that the beginning stays text for a
/// dictionary to work on. When the input is used up, every further decision is the first of the possible ones.
public struct Choices {
    private var bytes: ArraySlice<UInt8>

    public init(_ input: [UInt8]) { bytes = input[...] }

    /// What no decision has taken yet.
    public var rest: [UInt8] { Array(bytes) }

    /// Whether every decision from here on is the first.
    public var isUsedUp: Bool { bytes.isEmpty }

    /// Any byte.
    public mutating func byte() -> UInt8 { bytes.popLast() ?? 0 }

    /// A number from 0 up to a bound that is at most 256.
    public mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

    /// Yes or no.
    public mutating func flag() -> Bool { byte() & 1 == 1 }

    /// One of some values.
    public mutating func one<Value>(of values: [Value]) -> Value { values[number(below: values.count)] }

    /// So many bytes, or as many as are left.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        let taken = Array(bytes.suffix(count))
        bytes.removeLast(taken.count)
        return taken
    }

    /// 64 bits.
    public mutating func word() -> UInt64 { bytes(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// Text of at most so many bytes, repaired to be UTF-8.
    public mutating func text(upTo limit: Int) -> String {
        let length = number(below: limit + 1)
        return String(decoding: bytes(length), as: UTF8.self)
    }
}
