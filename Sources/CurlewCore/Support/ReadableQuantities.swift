extension Duration {
    /// The duration as rounded text for a message: `20 s`, `4.92 s`, `300 ms`, `85 µs`.
    package var text: String {
        let nanoseconds = nanosecondsClamped
        let size = nanoseconds.magnitude
        if size >= 999_500_000 { return "\(Self.rounded(nanoseconds, 1_000_000_000)) s" }
        if size >= 999_500 { return "\(Self.rounded(nanoseconds, 1_000_000)) ms" }
        return size == 0 ? "0 s" : "\(Self.rounded(nanoseconds, 1000)) µs"
    }

    /// The quotient with at least three digits, without trailing zeros.
    private static func rounded(_ value: Int64, _ unit: Int64) -> String {
        let hundredths = (Double(value) / Double(unit) * 100).rounded()
        if abs(hundredths) >= 10_000 || hundredths.truncatingRemainder(dividingBy: 100) == 0 {
            return "\(Int64((hundredths / 100).rounded()))"
        }
        return "\(hundredths / 100)"
    }
}

extension ByteSize: CustomStringConvertible {
    /// The size with the largest unit that divides it: `1 MiB`, `64 KiB`, `100 bytes`.
    public var description: String {
        switch bytes {
        case 1: "1 byte"
        case let bytes where bytes != 0 && bytes.isMultiple(of: 1 << 30): "\(bytes >> 30) GiB"
        case let bytes where bytes != 0 && bytes.isMultiple(of: 1 << 20): "\(bytes >> 20) MiB"
        case let bytes where bytes != 0 && bytes.isMultiple(of: 1 << 10): "\(bytes >> 10) KiB"
        default: "\(bytes) bytes"
        }
    }
}
