/// A reference to a resource (RFC 3986 §4.1), relative to a session's base URL or absolute. It is the first argument of
/// a call.
///
/// A reference is written as a string literal. A value in the literal becomes one escaped segment of the path, or one
/// escaped value after `?`. It cannot change the target in any other way:
///
/// ```swift
/// let user = try await api.get("users/\(id)", as: User.self)      // "../admin" goes out as ..%2Fadmin
/// let hits = try await api.get("search?q=\(text)", as: [Hit].self)
/// ```
///
/// The call throws ``ErrorCode/invalidURL`` for:
/// - an empty value in a path;
/// - a segment of the path that becomes `.` or `..`, also by joining parts;
/// - a value that is a URL or a collection, or stands in the place of the scheme or the host.
///
/// An optional value does not compile. Text that must not be escaped is written `\(raw: text)`. A complete reference
/// that is known only at run time is written ``raw(_:)`` or ``uri(_:)``:
///
/// ```swift
/// let page = try await api.get(.raw(link), as: Page.self)
/// ```
public struct URIReference: Sendable {
    enum Storage: Sendable {
        case text(String)
        case uri(CurlewURI)
        /// The error in the literal.
        case invalid(String)
    }

    let storage: Storage

    private init(_ storage: Storage) { self.storage = storage }

    /// Text that is used as a reference unchanged. Only characters that are not allowed in a URI are escaped. The text
    /// decides where the request is sent, so it must be trusted.
    public static func raw(_ text: String) -> URIReference { URIReference(.text(text)) }

    /// A URI.
    public static func uri(_ uri: CurlewURI) -> URIReference { URIReference(.uri(uri)) }

    /// The URI of the reference.
    /// - Parameter base: The URI that the reference is relative to; nil requires an absolute reference.
    package func resolved(against base: CurlewURI?) throws -> CurlewURI {
        switch storage {
        case .uri(let uri): return uri
        case .text(let text):
            guard let base else { return try CurlewURI(text).removingDotSegments() }
            return try base.resolving(text)
        case .invalid(let reason): throw CurlewError(.invalidURL, reason)
        }
    }
}

extension URIReference: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(.text(value)) }

    public init(stringInterpolation: StringInterpolation) { self.init(stringInterpolation.storage) }

    /// A literal that contains values.
    public struct StringInterpolation: StringInterpolationProtocol {
        private enum Part { case target, query, fragment }

        private var text = ""
        private var part = Part.target
        /// The offset in ``text`` of each value in the path.
        private var places: [Int] = []
        private var problem: String?

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) {
            for byte in literal.utf8 {
                if part == .target, byte == .questionMark { part = .query }
                if byte == .numberSign { part = .fragment }
            }
            text += literal
        }

        /// A value: one segment of the path or a part of it, or one value of the query.
        public mutating func appendInterpolation(_ value: some StringProtocol) { append(String(value)) }

        /// The description of a value: one segment of the path or a part of it, or one value of the query.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            if value is any Collection {
                refuse("a collection has no place in a URL: put its values into parameters")
            } else if value is CurlewURI {
                refuse("a URL is no part of another: give it whole, as .uri(…)")
            } else {
                append(value.description)
            }
        }

        /// A value of an enumeration.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: CustomStringConvertible {
            append(value.rawValue.description)
        }

        /// A value of an enumeration.
        public mutating func appendInterpolation<Value: RawRepresentable & CustomStringConvertible>(_ value: Value)
        where Value.RawValue: CustomStringConvertible {
            append(value.rawValue.description)
        }

        @available(
            *, unavailable,
            message:
                "a value in a URL has to describe itself (CustomStringConvertible): unwrap an optional, or put it into parameters, where nil leaves the pair out"
        )
        public mutating func appendInterpolation<Value>(_ value: Value?) {}

        @available(
            *, unavailable,
            message:
                "a value needs no label: it is escaped for the path or the query that contains it; raw: inserts text without escaping"
        )
        public mutating func appendInterpolation(path value: some StringProtocol) {}

        @available(
            *, unavailable,
            message:
                "a value needs no label: it is escaped for the path or the query that contains it; raw: inserts text without escaping"
        )
        public mutating func appendInterpolation(query value: some StringProtocol) {}

        /// Text that is inserted unchanged.
        public mutating func appendInterpolation(raw value: some StringProtocol) { appendLiteral(String(value)) }

        private mutating func refuse(_ reason: String) { if problem == nil { problem = reason } }

        private mutating func append(_ value: String) {
            if part == .target {
                guard !value.isEmpty else { return refuse("a value in the path of a URL is empty") }
                guard !text.isEmpty || !value.utf8.contains("://".utf8) else {
                    return refuse("a value at the beginning is a URL: give it whole, as .raw(…), or by \\(raw: …)")
                }
                places.append(text.utf8.count)
            }
            ComponentEncoding.append(value.utf8, to: &text)
        }

        var storage: Storage {
            if let problem { return .invalid(problem) }
            guard !places.isEmpty else { return .text(text) }
            let bytes = Array(text.utf8)
            let start = Self.pathStart(bytes)
            guard places.allSatisfy({ $0 >= start }) else {
                return .invalid(
                    "a value stands where a URL has its scheme or host: write these out, or give \\(raw: …)")
            }
            let end = bytes.firstIndex { $0 == .questionMark || $0 == .numberSign } ?? bytes.count
            for place in places {
                let from = bytes[start..<place].lastIndex(of: .slash).map { $0 + 1 } ?? start
                let to = bytes[place..<end].firstIndex(of: .slash) ?? end
                let segment = PercentDecoding.bytes(of: bytes[from..<to], isStrict: false) ?? []
                if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) {
                    return .invalid("a value makes a segment of the path that is . or .., which would lead out of it")
                }
            }
            return .text(text)
        }

        /// The offset of the path's beginning: after scheme and authority, if there are any.
        private static func pathStart(_ bytes: [UInt8]) -> Int {
            let scheme = URIParser.schemeEnd(of: bytes).map { $0 + 1 } ?? 0
            guard bytes[scheme...].starts(with: "//".utf8) else { return scheme }
            return bytes[(scheme + 2)...].firstIndex { $0 == .slash || $0 == .questionMark || $0 == .numberSign }
                ?? bytes.count + 1
        }
    }
}
