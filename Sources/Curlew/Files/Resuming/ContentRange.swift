internal import HTTPTypes

/// What a Content-Range field says (RFC 9110 §14.4): which bytes there are, and of how many.
///
/// Read to the letter: the unit `bytes` in any case, one space, digits alone. A number beyond 2⁶³ − 2, a range whose end
/// comes before its beginning or that reaches beyond the whole, and `*/*` are errors.
struct ContentRange: Sendable, Hashable {
    /// The bytes that the message has; nil if it has none, as in `bytes */1234`.
    let range: Range<Int64>?
    /// The length of the whole; nil where the server does not know it.
    let total: Int64?

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` unless there is one field, and it can be read.
    init(_ fields: HTTPFields) throws {
        let values = fields[values: .contentRange]
        guard values.count == 1 else {
            throw CurlewError(.invalidResponse, "the response has \(values.count) Content-Range fields")
        }
        try self.init(values[0])
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse``.
    init(_ text: String) throws {
        var reader = ContentRangeReader(text)
        guard let (range, total) = reader.read() else {
            throw CurlewError(.invalidResponse, "the response's Content-Range cannot be read")
        }
        self.range = range
        self.total = total
    }
}

/// Reads the field from left to right.
private struct ContentRangeReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func read() -> (Range<Int64>?, Int64?)? {
        guard Array(rest.prefix(5))[...].isEqual(ignoringCase: "bytes") else { return nil }
        rest = rest.dropFirst(5)
        guard take(.space) else { return nil }
        let range = range()
        guard range != nil || take(UInt8(ascii: "*")), take(.slash) else { return nil }
        let isUnknown = take(UInt8(ascii: "*"))
        let total = isUnknown ? nil : number()
        guard rest.isEmpty, isUnknown || total != nil else { return nil }
        guard let range else { return isUnknown ? nil : (nil, total) }
        if let total, range.upperBound > total { return nil }
        return (range, total)
    }

    private mutating func range() -> Range<Int64>? {
        guard let first = number(), take(UInt8(ascii: "-")), let last = number(), first <= last, last < .max else {
            return nil
        }
        return first..<(last + 1)
    }

    private mutating func number() -> Int64? {
        let digits = rest.prefix(while: \.isDigit)
        guard let number = Int64(Substring(digits)) else { return nil }
        rest = rest.dropFirst(digits.count)
        return number
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }
}
