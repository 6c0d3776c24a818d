internal import CLinux

/// The system's random numbers, 16 in each system call.
package struct BulkRandom: RandomNumberGenerator {
    private var numbers = InlineArray<16, UInt64>(repeating: 0)
    /// The number of unused numbers, which are the first of ``numbers``.
    private var left = 0

    package init() {}

    package mutating func next() -> UInt64 {
        if left == 0 { fill() }
        left -= 1
        return numbers[left]
    }

    private mutating func fill() {
        left = numbers.count
        var span = numbers.mutableSpan
        var bytes = span.mutableBytes
        let count = bytes.withUnsafeMutableBytes { getrandom($0.baseAddress, $0.count, 0) }
        guard count != bytes.byteCount else { return }
        // The generator of the standard library has other ways to get random numbers, and traps without any.
        var system = SystemRandomNumberGenerator()
        for index in numbers.indices { numbers[index] = system.next() }
    }
}
