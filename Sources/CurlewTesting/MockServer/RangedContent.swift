#if TestKit
public import HTTPTypes

/// A file for a ``MockServer``, with support for ranges (RFC 9110, sections 13.1.5 and 14).
///
///     let content = RangedContent(BytePattern.bytes(count: 1 << 20), entityTag: "\"one\"")
///     let server = try await MockServer.start { content.response(to: $0) }
///
/// `Range: bytes=…` with one range is answered with 206 and Content-Range, or with 416 if the range is outside the
/// content. With If-Range this applies only if its value equals the content's strong entity tag or its date exactly;
/// otherwise the complete content is sent. Several ranges, other units and invalid ranges are answered with the
/// complete content. HEAD is answered with the fields alone.
public struct RangedContent: Sendable {
    /// The bytes of the content.
    public var bytes: [UInt8]
    /// The value of ETag with its quotes, and `W/` before them if it is weak; no field when `nil`.
    public var entityTag: String?
    /// The value of Last-Modified; no field when `nil`.
    public var lastModified: String?
    /// The value of Date; no field when `nil`. A client may treat Last-Modified as strong only if it is earlier than
    /// Date.
    public var date: String?
    /// Additional fields.
    public var fields: HTTPFields = [:]
    /// True if ranges are answered, and announced by Accept-Ranges. If false, every response has the complete content.
    public var takesRanges = true
    /// The pace of the body; unlimited when `nil`.
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

    /// Makes the response to a request.
    public func response(to request: InboundRequest) -> MockResponse {
        self.response(method: request.method, fields: request.fields)
    }

    /// Makes the response to a request with this method and these fields.
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

/// The single range of a Range field: `5-9`, `5-` or `-5`.
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

    /// The range within `count` bytes; `nil` if it is outside.
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
