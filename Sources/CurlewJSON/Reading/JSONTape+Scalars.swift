internal import CurlewPlatform
internal import CurlewSupport

/// Strings and numbers of a tape.
extension JSONTape {
    /// A string with resolved escapes.
    func string(at place: Place) -> String {
        let token = tokens[place]
        let bytes = tokens.bytes(at: place)
        guard token.flags.contains(.escaped) else {
            // The text is valid UTF-8, and the string contains only whole characters, because an ASCII byte ends it.
            return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: !token.flags.contains(.beyondASCII)))
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { output in
            let length = JSONEscapes.resolve(bytes, into: output)
            return String(copying: UTF8Span(unchecked: UnsafeBufferPointer(rebasing: output.prefix(length)).span))
        }
    }

    /// A name. The parser has resolved its escapes.
    func nameString(at place: Place) -> String { String(copying: UTF8Span(unchecked: tokens.bytes(at: place).span)) }

    /// The bytes of a number in the text.
    func literal(at place: Place) -> UnsafeBufferPointer<UInt8> {
        let start = UnsafePointer(tokens.text) + Int(tokens[place].offset)
        var end = start
        while end.pointee.isPartOfNumber { end += 1 }
        return UnsafeBufferPointer(start: start, count: end - start)
    }

    /// A number for a tree.
    func number(at place: Place) -> JSONValue.Number {
        let token = tokens[place]
        let isNegative = token.flags.contains(.negative)
        // A negative zero is a double.
        if token.flags.isSuperset(of: [.exact, .integer]), token.body <= Int64.max, token.body != 0 || !isNegative {
            let value = Int64(token.body)
            return JSONValue.Number(isNegative ? -value : value)
        }
        // A double preserves fifteen digits, unless the number is too small.
        if token.flags.contains(.exact), !token.flags.contains(.integer), token.body < 1_000_000_000_000_000,
            let value = double(at: place), value != 0 || token.body == 0, let number = JSONValue.Number(value)
        {
            return number
        }
        return JSONValue.Number(
            literal: Array(literal(at: place))[...], isInteger: token.flags.contains(.integer),
            becomesInfinite: outOfRange == .infinity)
    }

    /// A number as an integer type; nil if the number is not an integer in the range of the type.
    @inline(__always)
    func integer<Value: FixedWidthInteger>(at place: Place, as type: Value.Type = Value.self) -> Value? {
        let token = tokens[place]
        guard token.flags.isSuperset(of: [.exact, .integer]) else {
            return JSONValue.Number.integer(literal(at: place))
        }
        guard token.flags.contains(.negative) else { return Value(exactly: token.body) }
        guard let value = Int64(exactly: token.body) else { return Value(exactly: 0 - Int128(token.body)) }
        return Value(exactly: 0 - value)
    }

    /// A number as the nearest double. A number that is too small is zero. A number beyond the range is infinite if the
    /// options require it, else nil.
    func double(at place: Place) -> Double? {
        let token = tokens[place]
        if token.flags.contains(.exact),
            let value = DecimalDouble.value(of: token.body, timesTenTo: Int(token.exponent))
        {
            return token.flags.contains(.negative) ? -value : value
        }
        guard let value = Double(String(decoding: literal(at: place), as: UTF8.self)) else { return nil }
        return value.isFinite || outOfRange == .infinity ? value : nil
    }

    /// A number as the nearest float. A number beyond the range of floats is treated as in ``double(at:)``.
    func float(at place: Place) -> Float? {
        guard let double = double(at: place) else { return nil }
        var float = Float(double)
        // A double exactly between two floats may itself be the result of rounding.
        if double.bitPattern & 0x1FFF_FFFF == 0x1000_0000 || float.magnitude <= .leastNormalMagnitude {
            float = Float(String(decoding: literal(at: place), as: UTF8.self)) ?? float
        }
        return float.isFinite || outOfRange == .infinity ? float : nil
    }
}

extension UInt8 {
    fileprivate var isPartOfNumber: Bool {
        isDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "-") || self == UInt8(ascii: "+")
            || self | 0x20 == UInt8(ascii: "e")
    }
}
