#if TestKit
public import HTTPTypes

/// A file that a ``MockServer`` serves, by ranges too (RFC 9110, sections 13.1.5 and 14).
///
///     let content = RangedContent(BytePattern.bytes(count: 1 << 20), entityTag: "\"one\"")
///     let server = try await MockServer.start { content.response(to: $0) }
///
/// `Range: bytes=…` with one range is answered by 206 and Content-Range, or by 416 if there is no such range. With If-Range
/// that is so only while its value is the content's strong entity tag or its date, to the letter; else the whole is sent.
/// Several ranges, other units and what cannot be read are answered by the whole. HEAD gets the fields alone.
public struct RangedContent: Sendable {
    /// The bytes.
    public var bytes: [UInt8]
    /// ETag with its quotes, and `W/` before them if it is weak; none when `nil`.
    public var entityTag: String?
    /// Last-Modified; none when `nil`.
    public var lastModified: String?
    /// Date; none when `nil`. A client may take Last-Modified for strong only if it is earlier than this.
    public var date: String?
    /// Fields beside these.
    public var fields: HTTPFields = [:]
    /// True if ranges are answered, and announced by Accept-Ranges. Without them the whole is always sent.
    public var takesRanges = true
    /// The pace of the body; as fast as the client takes it when `nil`.
    public var throttle: MockResponse.Throttle?

    /// Makes content.
    public init(
        _ bytes: [UInt8], entityTag: String? = nil, lastModified: String? = nil, date: String? = nil
    ) {
        self.bytes = bytes
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
    }

    /// The answer to a request.
    public func response(to request: InboundRequest) -> MockResponse {
        self.response(method: request.method, fields: request.fields)
    }

    /// The answer to a method with these fields.
    public func response(method: HTTPRequest.Method, fields: HTTPFields) -> MockResponse {
        var response = MockResponse(status: .ok, fields: self.fields, body: .bytes(self.bytes))
        response.throttle = self.throttle
        response.fields[.eTag] = self.entityTag
        response.fields[.lastModified] = self.lastModified
        response.fields[.date] = self.date
        response.fields[.acceptRanges] = self.takesRanges ? "bytes" : "none"
        guard self.takesRanges, method == .get, let range = fields[.range], self.isCurrent(fields[.ifRange]),
            let wanted = WantedRange(range)
        else { return response }
        if let found = wanted.found(in: self.bytes.count) {
            response.status = .partialContent
            response.fields[.contentRange] = "bytes \(found.lowerBound)-\(found.upperBound - 1)/\(self.bytes.count)"
            response.body = .bytes(Array(self.bytes[found]))
        } else {
            response.status = .rangeNotSatisfiable
            response.fields[.contentRange] = "bytes */\(self.bytes.count)"
            response.body = .none
        }
        return response
    }

    private func isCurrent(_ condition: String?) -> Bool {
        guard let condition else { return true }
        return condition == self.entityTag && !condition.hasPrefix("W/") || condition == self.lastModified
    }
}

/// The one range of a Range field: `5-9`, `5-` or `-5`.
private struct WantedRange {
    let first: Int?
    let last: Int?

    init?(_ field: String) {
        guard field.lowercased().hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let numbers = parts.map { part in part.allSatisfy { $0.isASCII && $0.isNumber } ? Int(part) : nil }
        guard zip(parts, numbers).allSatisfy({ $0.isEmpty || $1 != nil }) else { return nil }
        self.first = numbers[0]
        self.last = numbers[1]
        guard self.first != nil || self.last != nil else { return nil }
        if let first, let last, first > last { return nil }
    }

    /// The range in so many bytes; `nil` if there is none.
    func found(in count: Int) -> Range<Int>? {
        if let first {
            guard first < count else { return nil }
            return first..<min(self.last.map { $0 < Int.max ? $0 + 1 : $0 } ?? count, count)
        }
        guard let last, last > 0, count > 0 else { return nil }
        return max(0, count - last)..<count
    }
}
#endif
