/// A number of seconds in a field (RFC 9111 §1.2.2).
package enum DeltaSeconds {
    /// Nil for text with other characters than digits; too large numbers become the largest number.
    package static func read(_ text: some Collection<UInt8>) -> Int64? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(Int64(0)) { seconds, digit in
            let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 10)
            let (sum, isStill) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            return isTooLarge || isStill ? .max : sum
        }
    }
}

/// A number of seconds in the lenient form that some servers write where only digits are allowed.
package enum SecondsText {
    /// The number, rounded up: digits, an optional fraction, and an optional unit such as `s`, `sec` or `seconds`. Too
    /// large numbers become the largest number; other text is nil.
    package static func roundedUp(_ text: ArraySlice<UInt8>) -> Int64? {
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
