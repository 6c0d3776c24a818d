internal import HTTPTypes

/// A request for a part of a representation, and the evaluation of its response (RFC 9110 §14, §15.3.7, §15.5.17).
package struct RangeRequest: Sendable, Hashable {
    /// The requested bytes. An upper bound of `Int64.max` means "to the end".
    package var wanted: Range<Int64>
    /// The length of the representation, if it is known.
    package var total: Int64?
    /// The validator of the bytes that are already there.
    package var validator: ResumeToken.Validator
    /// The content codings of the bytes that are already there, in lower case. Ranges refer to coded bytes.
    package var codings: [String]

    package init(
        wanted: Range<Int64>, total: Int64? = nil, validator: ResumeToken.Validator, codings: [String] = []
    ) {
        self.wanted = wanted
        self.total = total
        self.validator = validator
        self.codings = codings
    }

    /// The evaluation of a response.
    package enum Verdict: Sendable, Hashable {
        /// The body is this part. It begins at the requested offset, but may be shorter than requested.
        case part(Range<Int64>, total: Int64?)
        /// The body is the complete representation: the server does not support ranges, or its representation has
        /// changed.
        case whole
        /// No bytes are missing: those already there are complete.
        case complete
        /// The response does not match the request. Its body must not be written.
        case mismatch(Mismatch)
        /// The response is a refusal.
        case refused
    }

    /// The reason for which a response does not match.
    package enum Mismatch: String, Sendable, Hashable {
        case unreadable = "its Content-Range cannot be read"
        case severalParts = "it has several parts"
        case coded = "it has another content coding"
        case otherRange = "it does not have the requested range"
        case otherTotal = "it declares another complete length"
        case otherRepresentation = "it belongs to another representation"
        case otherLength = "its length is not that of its range"
        case endless = "it does not declare the complete length"
        case unsatisfied = "there is no such range"
    }

    /// Puts the range into a request's fields.
    package func apply(to fields: inout HTTPFields) {
        let isToTheEnd = wanted.upperBound == .max || wanted.upperBound == total
        fields[.range] = "bytes=\(wanted.lowerBound)-\(isToTheEnd ? "" : String(wanted.upperBound - 1))"
        fields[.ifRange] = validator.value
    }

    /// Evaluates the head of a response. The caller still has to check the body's length.
    package func evaluate(_ head: HTTPResponse) -> Verdict {
        switch head.status.code {
        case 206: evaluatePart(head.headerFields)
        case 200, 203: .whole
        case 416: evaluateUnsatisfied(head.headerFields)
        default: .refused
        }
    }

    private func evaluatePart(_ fields: HTTPFields) -> Verdict {
        let mediaType = ContentType(contentTypeOf: fields)
        if mediaType?.type == "multipart" { return .mismatch(.severalParts) }
        guard let content = try? ContentRange(fields), let range = content.range else { return .mismatch(.unreadable) }
        guard ContentCodingList(fields).isSame(as: codings) else { return .mismatch(.coded) }
        guard range.lowerBound == wanted.lowerBound, range.upperBound <= wanted.upperBound else {
            return .mismatch(.otherRange)
        }
        if let total, let other = content.total, total != other { return .mismatch(.otherTotal) }
        guard let length = total ?? content.total else { return .mismatch(.endless) }
        guard range.upperBound <= length else { return .mismatch(.otherTotal) }
        guard validator.fits(fields) else { return .mismatch(.otherRepresentation) }
        if let text = fields[.contentLength], ContentLength.read(text.utf8) != range.upperBound - range.lowerBound {
            return .mismatch(.otherLength)
        }
        return .part(range, total: length)
    }

    private func evaluateUnsatisfied(_ fields: HTTPFields) -> Verdict {
        guard let content = try? ContentRange(fields), content.range == nil, content.total == wanted.lowerBound,
            total == nil || total == content.total, fields[values: .eTag].isEmpty || validator.fits(fields)
        else { return .mismatch(.unsatisfied) }
        return .complete
    }
}

/// The value of a Content-Range field (RFC 9110 §14.4): the range of the bytes and the length of the representation.
///
/// Parsing is strict: the unit `bytes` in any case, one space, digits only. Errors are a position beyond 2⁶³ − 2, a
/// range that ends before its beginning or exceeds the representation, and `*/*`.
package struct ContentRange: Sendable, Hashable {
    /// The bytes of the message; nil without any, as in `bytes */1234`.
    package let range: Range<Int64>?
    /// The length of the representation; nil if the server does not know it.
    package let total: Int64?

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` unless there is exactly one field, and it is valid.
    package init(_ fields: HTTPFields) throws {
        let values = fields[values: .contentRange]
        guard values.count == 1 else {
            throw CurlewError(.invalidResponse, "the response has \(values.count) Content-Range fields")
        }
        try self.init(values[0])
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse``.
    package init(_ text: String) throws {
        var reader = ContentRangeReader(text)
        guard let (range, total) = reader.read() else {
            throw CurlewError(.invalidResponse, "the response's Content-Range cannot be read")
        }
        self.range = range
        self.total = total
    }
}

/// A parser for the field's value.
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
