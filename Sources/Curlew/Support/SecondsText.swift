/// Seconds as a field gives them (RFC 9111 §1.2.2).
enum DeltaSeconds {
    /// Nil unless it is digits alone; what is too large to count is the largest number.
    static func read(_ text: some Collection<UInt8>) -> Int64? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(Int64(0)) { seconds, digit in
            let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 10)
            let (sum, isStill) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            return isTooLarge || isStill ? .max : sum
        }
    }
}

/// A number of seconds as servers write it where digits alone are allowed.
enum SecondsText {
    /// The number, rounded up: digits, a fraction if there is one, and `s`, `sec` or `seconds` behind them. Too large a number is the
    /// largest; any other text is nil.
    static func roundedUp(_ text: ArraySlice<UInt8>) -> Int64? {
        var rest = text.trimmingBlanks
        let digits = rest.prefix(while: \.isDigit)
        rest = rest.dropFirst(digits.count)
        guard var seconds = DeltaSeconds.read(digits) else { return nil }
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix(while: \.isDigit)
            rest = rest.dropFirst(1 + fraction.count)
            if fraction.contains(where: { $0 != UInt8(ascii: "0") }), seconds < .max { seconds += 1 }
        }
        let unit = rest.trimmingBlanks
        let isUnit = unit.isEmpty || units.contains { unit.isEqual(ignoringCase: $0) }
        return isUnit ? seconds : nil
    }

    private static let units: [StaticString] = ["s", "sec", "secs", "second", "seconds"]
}
