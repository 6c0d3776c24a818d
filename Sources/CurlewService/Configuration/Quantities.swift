#if Service
internal import Curlew

extension Form {
    /// A duration: a number with a unit, as in `30s` and `1.5h`; a number without a unit is in seconds.
    /// - Parameter allowsZero: True if zero is allowed.
    static func duration(allowsZero: Bool = false) -> ValueForm<Duration> {
        let bound = allowsZero ? "" : " above zero"
        return ValueForm<Duration>(
            "duration", "a duration\(bound) such as 30s, 250ms or 2m, up to 365d", show: DurationText.text
        ) {
            text in
            guard let duration = DurationText.duration(text) else { return nil }
            return duration > .zero || allowsZero && duration == .zero ? duration : nil
        }
    }

    /// A time limit, or `unlimited`.
    static let timeLimit = duration().or("unlimited", for: Timeouts.unlimited)
}

extension Form {
    /// A size: a whole number with a unit, as in `64KiB`; a number without a unit is in bytes.
    static func size(_ range: ClosedRange<ByteSize> = 1...ByteSizeText.largest) -> ValueForm<ByteSize> {
        let bounds = "from \(ByteSizeText.text(range.lowerBound)) to \(ByteSizeText.text(range.upperBound))"
        return ValueForm<ByteSize>(
            "size", "a size such as 65536, 64KiB, 1MiB or 2GiB, \(bounds)", show: { ByteSizeText.text($0) },
            read: { text in
                guard let size = ByteSizeText.size(text) else { return nil }
                return range.contains(size) ? size : nil
            })
    }
}

/// The text form of durations: digits, an optional fraction, and a unit.
private enum DurationText {
    /// The units in nanoseconds, the smallest first.
    private static let units: KeyValuePairs<String, Int128> = [
        "us": 1000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000,
        "d": 86_400_000_000_000,
    ]
    private static let longest: Int128 = 365 * 86_400_000_000_000

    static func duration(_ text: String) -> Duration? {
        let number = text.prefix { $0 == "." || $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(number.count)
        guard let factor = unit.isEmpty ? 1_000_000_000 : units.first(where: { $0.key == unit })?.value else {
            return nil
        }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts[0].count <= 18, let whole = Int64(parts[0]) else { return nil }
        var nanoseconds = Int128(whole) * factor
        if parts.count == 2 {
            guard parts[1].count <= 18, let fraction = Int64(parts[1]) else { return nil }
            let scale = parts[1].reduce(Int128(1)) { scale, _ in scale * 10 }
            let (quotient, remainder) = (Int128(fraction) * factor).quotientAndRemainder(dividingBy: scale)
            // A fraction of a nanosecond is finer than any clock, and so a mistake.
            guard remainder == 0 else { return nil }
            nanoseconds += quotient
        }
        return nanoseconds <= longest ? .nanoseconds(Int64(nanoseconds)) : nil
    }

    /// The text in the largest unit without a fraction, up to seconds; minutes and longer units become seconds.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        if attoseconds == 0 { return "\(seconds)s" }
        return attoseconds % 1_000_000_000_000_000 == 0
            ? "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms" : "\(duration / .microseconds(1))us"
    }
}

/// The text form of sizes: digits and a unit. Decimal units are not accepted, because many people read them as powers
/// of two.
enum ByteSizeText {
    static let largest = ByteSize(1 << 40)
    private static let units: KeyValuePairs<String, Int> = ["B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40]

    static func size(_ text: String) -> ByteSize? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let shift = unit.isEmpty ? 0 : units.first(where: { $0.key == unit })?.value, let number = Int(digits)
        else { return nil }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: 1 << shift)
        return isTooLarge ? nil : ByteSize(bytes)
    }

    static func text(_ size: ByteSize) -> String {
        let unit = units.last { size.bytes >= 1 << $0.value && size.bytes % (1 << $0.value) == 0 }
        guard let unit, unit.value > 0 else { return "\(size.bytes)B" }
        return "\(size.bytes >> unit.value)\(unit.key)"
    }
}
#endif
