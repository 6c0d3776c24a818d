internal import CurlewSupport

extension JSONValue {
    /// A JSON number: a 64-bit integer, a double, or the text of a number that fits neither.
    ///
    /// Integers and doubles of the same value are equal. Numbers that are kept as text are equal if their texts are
    /// equal.
    public struct Number: Sendable, Hashable, CustomStringConvertible {
        enum Storage: Sendable {
            case integer(Int64)
            case unsigned(UInt64)
            case double(Double)
            /// The nearest double, and the original digits. The number has 16 or 17 digits, which a double
            /// distinguishes but may not represent exactly, or it was read as infinity.
            case rounded(Double, digits: String)
            case text(String)
        }

        let storage: Storage

        /// Creates an integer.
        public init(_ value: Int64) { storage = .integer(value) }

        /// Creates an integer.
        public init(_ value: Int) { storage = .integer(Int64(value)) }

        /// Creates an integer.
        public init(_ value: UInt64) {
            storage = Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
        }

        /// Creates a double; nil for infinities and NaN, which JSON does not have.
        public init?(_ value: Double) {
            guard value.isFinite else { return nil }
            storage = .double(value)
        }

        /// True if the number is kept as text because it fits no numeric type.
        public var isBig: Bool {
            if case .text = storage { true } else { false }
        }

        /// The number as an integer type; nil if the number is not exactly an integer in the range of the type.
        public func integer<Value: FixedWidthInteger>(as type: Value.Type = Value.self) -> Value? {
            switch storage {
            case .integer(let value): Value(exactly: value)
            case .unsigned(let value): Value(exactly: value)
            case .double(let value): Value(exactly: value)
            case .rounded(_, let text), .text(let text): Self.integer(text.utf8)
            }
        }

        /// The integer of a literal. It is computed from the digits, because a double may have lost some of them.
        static func integer<Value: FixedWidthInteger>(_ literal: some Collection<UInt8>) -> Value? {
            let mantissa = literal.prefix { $0 | 0x20 != UInt8(ascii: "e") }
            let parts = mantissa.split(separator: UInt8(ascii: "."), maxSplits: 1)
            guard let whole = parts.first else { return nil }
            var digits = Array(whole) + (parts.count > 1 ? Array(parts[1]) : [])
            if !digits.contains(where: { $0.isDigit && $0 != UInt8(ascii: "0") }) { return 0 }
            var exponent = parts.count > 1 ? -parts[1].count : 0
            if mantissa.count < literal.count {
                let power = String(decoding: literal.dropFirst(mantissa.count + 1), as: UTF8.self)
                // A larger exponent makes the number too large for every integer type, or smaller than one.
                guard let power = Int(power), power.magnitude < 1 << 32 else { return nil }
                exponent += power
            }
            while exponent < 0, digits.last == UInt8(ascii: "0") {
                digits.removeLast()
                exponent += 1
            }
            // The largest integer type has 39 digits.
            guard 0...39 ~= exponent else { return nil }
            digits += repeatElement(UInt8(ascii: "0"), count: exponent)
            return Value(String(decoding: digits, as: UTF8.self))
        }

        /// The number as a double, rounded to the nearest; a number that is too small is zero.
        ///
        /// It is nil for a number beyond the range, and infinite if that number was read with
        /// ``JSONCoding/ReadingOptions/OutOfRangeNumbers/infinity``.
        public var double: Double? {
            switch storage {
            case .integer(let value): return Double(value)
            case .unsigned(let value): return Double(value)
            case .double(let value), .rounded(let value, _): return value
            case .text(let text): return Double(text).flatMap { $0.isFinite ? $0 : nil }
            }
        }

        /// The number as JSON text.
        public var description: String {
            switch storage {
            case .integer(let value): "\(value)"
            case .unsigned(let value): "\(value)"
            case .double(let value): "\(value)"
            case .rounded(_, let digits): digits
            case .text(let text): text
            }
        }

        public static func == (left: JSONValue.Number, right: JSONValue.Number) -> Bool {
            switch (left.compared, right.compared) {
            case (.text(let left), .text(let right)): left == right
            case (.text, _), (_, .text): false
            case (.double(let left), .double(let right)): left == right
            case (.double(let value), _): right.isInteger(value)
            case (_, .double(let value)): left.isInteger(value)
            case (.integer(let left), .integer(let right)): left == right
            case (.unsigned(let left), .unsigned(let right)): left == right
            default: false
            }
        }

        /// The form in which numbers are compared.
        private var compared: Storage {
            if case .rounded(let value, _) = storage { .double(value) } else { storage }
        }

        private func isInteger(_ value: Double) -> Bool {
            switch storage {
            case .integer(let integer): Int64(exactly: value) == integer
            case .unsigned(let integer): UInt64(exactly: value) == integer
            default: false
            }
        }

        public func hash(into hasher: inout Hasher) {
            if case .text(let text) = storage { hasher.combine(text) } else { hasher.combine(double) }
        }
    }
}

extension JSONValue.Number {
    /// Creates the number of a literal that the grammar allows.
    /// - Parameters:
    ///   - literal: The bytes of the number.
    ///   - isInteger: True if the literal has neither a fraction nor an exponent.
    ///   - becomesInfinite: True if the double of a number beyond the range is infinite.
    init(literal: ArraySlice<UInt8>, isInteger: Bool, becomesInfinite: Bool = false) {
        let text = String(decoding: literal, as: UTF8.self)
        // An integer with at most 308 digits is within the range of Double.
        if becomesInfinite, !isInteger || literal.count > 308, let value = Double(text), value.isInfinite {
            storage = .rounded(value, digits: text)
            return
        }
        if isInteger, text != "-0" {
            storage = Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) } ?? .text(text)
        } else {
            storage = Self.double(text, literal) ?? .text(text)
        }
    }

    /// The literal as a double; nil if the literal is out of range, or has more digits than a double distinguishes.
    private static func double(_ text: String, _ literal: ArraySlice<UInt8>) -> Storage? {
        guard literal.count <= 400 else { return nil }
        let mantissa = literal.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter(\.isDigit)
        let significant = mantissa.drop { $0 == UInt8(ascii: "0") }
        let digits = significant.count - significant.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        guard digits <= 17, let value = Double(text), value.isFinite, value != 0 || significant.isEmpty else {
            return nil
        }
        return digits <= 15 ? .double(value) : .rounded(value, digits: text)
    }
}

/// The text of a number.
extension UnsafeBufferPointer<UInt8> {
    /// True if the number is beyond the range of doubles.
    var isBeyondDouble: Bool { Double(String(decoding: self, as: UTF8.self))?.isFinite != true }

    /// The number of digits of the mantissa without leading zeros.
    var significantDigits: Int {
        prefix { $0 | 0x20 != UInt8(ascii: "e") }.drop { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
            .count { $0.isDigit }
    }
}
