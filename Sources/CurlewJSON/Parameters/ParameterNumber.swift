internal import CurlewSupport

extension ParameterValue {
    /// A number in its original form: an integer of any size, a floating-point number, or decimal digits that stay
    /// unchanged.
    ///
    /// Two numbers are equal if they are of the same kind and value: the integer 1 is not the floating-point number 1.
    public struct Number: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case integer(Int64)
            /// An integer above `Int64.max`. Smaller ones have the other case, so that each number has a single form.
            case unsigned(UInt64)
            case double(Double)
            case float(Float)
            /// A number in the grammar of JSON.
            case decimal(String)
        }

        package let kind: Kind

        /// Creates an integer; one of more than 64 bits keeps its digits.
        public init(_ value: some BinaryInteger) {
            if let integer = Int64(exactly: value) {
                kind = .integer(integer)
            } else if let integer = UInt64(exactly: value) {
                kind = .unsigned(integer)
            } else {
                kind = .decimal(String(value))
            }
        }

        /// Creates a floating-point number; it is written with the fewest digits that distinguish it from its
        /// neighbours.
        public init(_ value: Double) { kind = .double(value) }

        /// Creates a floating-point number of single precision; 1.1 is written `1.1`, not `1.100000023841858`.
        public init(_ value: Float) { kind = .float(value) }

        /// Creates a number from digits, which are written unchanged, without rounding.
        /// - Parameter decimal: A number in the grammar of RFC 8259 §6, such as `-12.50` or `1e400`; for other text the
        ///   result is nil.
        public init?(decimal: String) {
            guard Self.isNumber(decimal.utf8) else { return nil }
            kind = .decimal(decimal)
        }

        /// True if the number is neither infinite nor NaN.
        public var isFinite: Bool {
            switch kind {
            case .double(let value): value.isFinite
            case .float(let value): value.isFinite
            case .integer, .unsigned, .decimal: true
            }
        }

        /// The nearest floating-point number; infinite if the number is too large.
        public var double: Double {
            switch kind {
            case .integer(let value): Double(value)
            case .unsigned(let value): Double(value)
            case .double(let value): value
            case .float(let value): Double(value)
            case .decimal(let digits): Double(digits) ?? .nan
            }
        }

        /// True if the text is a number in the grammar of RFC 8259 §6.
        private static func isNumber(_ digits: String.UTF8View) -> Bool {
            var rest = digits[...]
            if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            let isZero = rest.first == UInt8(ascii: "0")
            let whole = takeDigits(&rest)
            guard whole > 0, !isZero || whole == 1 else { return false }
            if rest.first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
                guard takeDigits(&rest) > 0 else { return false }
            }
            if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
                rest = rest.dropFirst()
                if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                    rest = rest.dropFirst()
                }
                guard takeDigits(&rest) > 0 else { return false }
            }
            return rest.isEmpty
        }

        private static func takeDigits(_ rest: inout Substring.UTF8View) -> Int {
            let digits = rest.prefix(while: \.isDigit)
            rest = rest[digits.endIndex...]
            return digits.count
        }
    }
}

extension ParameterValue.Number: CustomStringConvertible {
    /// The number as it is written in requests: `5` for 5.0, `1e+20` for 10²⁰.
    public var description: String {
        switch kind {
        case .integer(let value): value.description
        case .unsigned(let value): value.description
        case .double(let value): Self.shortened(value.description)
        case .float(let value): Self.shortened(value.description)
        case .decimal(let digits): digits
        }
    }

    /// Removes the `.0` of whole floating-point numbers in Swift.
    private static func shortened(_ text: String) -> String {
        text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
