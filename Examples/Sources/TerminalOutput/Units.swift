/// Formatting of text and numbers in columns.
package enum Units {
    package static func bytes(_ count: Int64) -> String {
        let value = Double(count)
        switch count {
        case ..<1024: return "\(count) B"
        case ..<(1 << 20): return "\(tenth(value / 1024)) KiB"
        case ..<(1 << 30): return "\(tenth(value / Double(1 << 20))) MiB"
        default: return "\(tenth(value / Double(1 << 30))) GiB"
        }
    }

    /// A number with its noun: `1 entry`, `2 entries`.
    package static func count(_ number: Int, _ one: String, _ several: String) -> String {
        "\(number) \(number == 1 ? one : several)"
    }

    package static func tenth(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

package func pad(_ text: String, _ width: Int) -> String {
    text.count >= width ? text : text + String(repeating: " ", count: width - text.count)
}

extension Units {
    /// A duration in the format of a clock: `0:07`, `12:34`, `3:02:01`; a dash from a hundred hours on.
    package static func clock(seconds: Double) -> String {
        guard seconds.isFinite, seconds < 360_000 else { return "–" }
        let whole = max(0, Int(seconds.rounded(.up)))
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// An amount of bytes in the notation of people: `4096`, `500k`, `2M`, `1.5GiB`. The letters are powers of 1024.
    /// - Returns: nil for an invalid or non-positive amount.
    package static func count(of text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let factor: Double
        switch text.dropFirst(digits.count).lowercased() {
        case "", "b": factor = 1
        case "k", "kb", "kib": factor = 1024
        case "m", "mb", "mib": factor = 1_048_576
        case "g", "gb", "gib": factor = 1_073_741_824
        default: return nil
        }
        guard let number = Double(digits), number * factor >= 1, number * factor < 9e18 else { return nil }
        return Int64(number * factor)
    }
}
