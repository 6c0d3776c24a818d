internal import CurlewSupport

/// The digits of numbers, with the same text as ``ParameterValue/Number/description``, and of dates.
extension JSONOutput {
    /// Appends an integer.
    @inline(__always)
    mutating func append(_ value: Int64) {
        reserve(24)
        if value < 0 { appendReserved(UInt64(UInt8(ascii: "-")), length: 1) }
        appendReserved(digitsOf: value.magnitude)
    }

    /// Appends an integer.
    @inline(__always)
    mutating func append(_ value: UInt64) {
        reserve(24)
        appendReserved(digitsOf: value)
    }

    /// Appends the digits of an integer, at most twenty. The buffer must have room for them, and for three words.
    @inline(__always)
    private mutating func appendReserved(digitsOf value: UInt64) {
        if value < 10 {
            appendReserved(value &+ UInt64(UInt8(ascii: "0")), length: 1)
        } else if value < 100_000_000 {
            appendLeading(value)
        } else {
            appendLong(value)
        }
    }

    @inline(never)
    private mutating func appendLong(_ value: UInt64) {
        let (upper, lower) = value.quotientAndRemainder(dividingBy: 100_000_000)
        if upper < 100_000_000 {
            appendLeading(upper)
        } else {
            let (top, middle) = upper.quotientAndRemainder(dividingBy: 100_000_000)
            appendLeading(top)
            appendReserved(Self.eightDigits(middle) | Self.zeros, length: 8)
        }
        appendReserved(Self.eightDigits(lower) | Self.zeros, length: 8)
    }

    /// Appends a number above 0 and below 10⁸ without leading zeros.
    @inline(__always)
    private mutating func appendLeading(_ value: UInt64) {
        let digits = Self.eightDigits(value)
        let leading = digits.trailingZeroBitCount & ~7
        appendReserved((digits | Self.zeros) >> UInt64(truncatingIfNeeded: leading), length: 8 &- leading / 8)
    }

    private static let zeros: UInt64 = 0x3030_3030_3030_3030

    /// The eight digits of a number below 10⁸, one in each byte, the first in the lowest. Halves, quarters and digits
    /// are split in parallel, with multiplications that are exact in these ranges.
    @inline(__always)
    private static func eightDigits(_ value: UInt64) -> UInt64 {
        let thousands = value / 10_000
        let halves = thousands | (value &- thousands &* 10_000) << 32
        let hundreds = (halves &* 10_486) >> 20 & 0x7F_0000_007F
        let quarters = (halves &- hundreds &* 100) << 16 | hundreds
        let tens = (quarters &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (quarters &- tens &* 10) << 8
    }
}

extension JSONOutput {
    /// Appends a finite number.
    mutating func append(_ value: Double) {
        if appendShort(value) { return }
        appendShortened(value.description)
    }

    /// Appends a finite number.
    mutating func append(_ value: Float) { appendShortened(value.description) }

    /// Appends a number with at most three decimals and 15 digits; false for other numbers.
    ///
    /// Doubles distinguish all decimals of 15 digits. So at most one such decimal has this number as its nearest
    /// double. Without trailing zeros, this decimal is the shortest text for the number, like its `description`.
    private mutating func appendShort(_ value: Double) -> Bool {
        let magnitude = value.magnitude
        guard magnitude < 1e12 else { return false }
        let thousandths = UInt64(magnitude * 1000 + 0.5)
        // The division rounds correctly, so its result is the double nearest to the decimal.
        guard Double(thousandths) / 1000 == magnitude else { return false }
        reserve(40)
        if value.sign == .minus { appendReserved(UInt64(UInt8(ascii: "-")), length: 1) }
        let (whole, places) = thousandths.quotientAndRemainder(dividingBy: 1000)
        appendReserved(digitsOf: whole)
        if places > 0 { appendPlaces(places) }
        return true
    }

    /// Appends a point and thousandths, without trailing zeros.
    private mutating func appendPlaces(_ thousandths: UInt64) {
        let tenths = thousandths / 100
        let hundredths = thousandths / 10 % 10
        let last = thousandths % 10
        let digits = UInt64(UInt8(ascii: ".")) | (0x303030 | tenths | hundredths << 8 | last << 16) << 8
        appendReserved(digits, length: last > 0 ? 4 : hundredths > 0 ? 3 : 2)
    }

    /// Appends a number without the `.0` of whole numbers in Swift.
    private mutating func appendShortened(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            let isWhole =
                bytes.count > 2 && bytes[bytes.count - 1] == UInt8(ascii: "0") && bytes[bytes.count - 2] == 0x2E
            append(UnsafeBufferPointer(rebasing: bytes.dropLast(isWhole ? 2 : 0)))
        }
    }
}

extension JSONOutput {
    /// Appends a date in quotation marks, in the form of ``CalendarDate/iso8601``.
    mutating func append(timestamp date: CalendarDate) {
        reserve(40)
        let seconds = date.time / 1000
        appendReserved(UInt64(UInt8.quote), length: 1)
        appendReserved(date.year, places: 4, before: "-")
        appendReserved(date.month, places: 2, before: "-")
        appendReserved(date.day, places: 2, before: "T")
        appendReserved(seconds / 3600, places: 2, before: ":")
        appendReserved(seconds / 60 % 60, places: 2, before: ":")
        appendReserved(seconds % 60, places: 2, before: "Z")
        appendReserved(UInt64(UInt8.quote), length: 1)
    }

    private mutating func appendReserved(_ value: Int, places: Int, before mark: Unicode.Scalar) {
        let digits = Self.eightDigits(UInt64(value)) | Self.zeros
        appendReserved(digits >> UInt64((8 - places) * 8), length: places)
        appendReserved(UInt64(UInt8(ascii: mark)), length: 1)
    }
}
