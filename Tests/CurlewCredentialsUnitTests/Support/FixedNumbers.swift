/// A source of known numbers: the bytes of a list, and then zeros.
struct FixedNumbers: RandomNumberGenerator {
    private var numbers: ArraySlice<UInt64>

    init(_ numbers: [UInt64]) { self.numbers = numbers[...] }

    /// Makes `UInt8.random(in: 0...255)` give these bytes.
    init(bytes: [UInt8]) { self.init(bytes.map(UInt64.init)) }

    mutating func next() -> UInt64 { numbers.popFirst() ?? 0 }
}
