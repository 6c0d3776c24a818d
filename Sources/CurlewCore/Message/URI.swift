internal import CurlewPlatform

/// An absolute `http` or `https` URI (RFC 3986), checked and ready to be requested.
///
/// Parsing is strict where a mistake could be an attack, and lenient towards typing habits:
/// - Control characters, an unknown scheme, an empty host, a port outside 1 to 65535, and a `\` in the authority are
///   errors.
/// - Leading zeros of a port, and the colon of an empty port, are removed.
/// - An international host name becomes its ASCII form (UTS #46). A name without such a form is an error, and so is
///   every such name without the package's trait `InternationalNames`, which is on by default.
/// - Spaces, non-ASCII text and the characters `" < > \ ^ ` { | }` in path and query are percent-encoded.
///
/// ```swift
/// let uri = try CurlewURI("https://example.com/v1/")
/// try uri.resolving("foo?bar=baz").description  // https://example.com/v1/foo?bar=baz
/// ```
public struct CurlewURI: Sendable, Hashable, CustomStringConvertible {
    /// The complete URI without user information. Its path is never empty.
    var text: String { storage.text }
    /// The UTF-8 offsets at which the parts of `text` begin.
    package var layout: Layout { storage.layout }
    /// `user:password`, percent-decoded, if the URI contained it. Never part of `description`.
    package var userInformation: String? { storage.userInformation }
    /// A single reference, because URIs are copied more often than made.
    private let storage: Storage

    private final class Storage: Sendable {
        let text: String
        let layout: Layout
        let userInformation: String?

        init(text: String, layout: Layout, userInformation: String?) {
            self.text = text
            self.layout = layout
            self.userInformation = userInformation
        }
    }

    package struct Layout: Sendable, Hashable {
        package var isSecure = false
        var host = 0..<0
        var port: UInt16?
        var authorityEnd = 0
        var pathEnd = 0
        var queryEnd = 0
        /// True if a segment of the path begins with a dot.
        var hasDotSegment = false
    }

    /// Parses an absolute URI.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(_ string: String) throws {
        self = try URIParser.absolute(string)
    }

    init(text: String, layout: Layout, userInformation: String?) {
        storage = Storage(text: text, layout: layout, userInformation: userInformation)
    }

    public static func == (one: CurlewURI, other: CurlewURI) -> Bool {
        one.storage === other.storage
            || (one.text.hasSameBytes(as: other.text) && one.layout == other.layout
                && one.userInformation.hasSameBytes(as: other.userInformation))
    }

    public func hash(into hasher: inout Hasher) {
        // The layout is determined by the text, so it is not hashed.
        text.hashBytes(into: &hasher)
        userInformation?.hashBytes(into: &hasher)
    }

    /// `http` or `https`.
    public var scheme: String { layout.isSecure ? "https" : "http" }

    /// The host as written. An IPv6 address keeps its brackets, and an international name is in its ASCII form
    /// (`xn--…`).
    public var host: String { slice(layout.host) }

    /// The port of the URI, else that of the scheme: 80 or 443.
    public var port: Int { layout.port.map(Int.init) ?? (layout.isSecure ? 443 : 80) }

    /// The host and, if the URI has one, the port.
    public var authority: String { slice(layout.host.lowerBound..<layout.authorityEnd) }

    /// The path, beginning with a slash, percent-encoded.
    public var path: String { slice(layout.authorityEnd..<layout.pathEnd) }

    /// The part between `?` and `#`, percent-encoded; nil without a question mark.
    public var query: String? {
        layout.queryEnd > layout.pathEnd ? slice(layout.pathEnd + 1..<layout.queryEnd) : nil
    }

    /// The part after `#`, percent-encoded; nil without `#`. It is never sent.
    public var fragment: String? {
        layout.queryEnd < text.utf8.count ? slice(layout.queryEnd + 1..<text.utf8.count) : nil
    }

    /// Scheme, host in lower case and effective port: the origin of RFC 6454.
    public var origin: String { "\(scheme)://\(host.lowercased()):\(port)" }

    /// True if scheme, host and port are the same (RFC 6454 §5).
    package func hasSameOrigin(as other: CurlewURI) -> Bool {
        layout.isSecure == other.layout.isSecure && port == other.port && host.lowercased() == other.host.lowercased()
    }

    /// True if scheme, host and port are written alike, which is usual for the same origin.
    package func begins(like other: CurlewURI) -> Bool {
        let count = layout.authorityEnd
        guard count == other.layout.authorityEnd else { return false }
        let isEqual = text.utf8.withContiguousStorageIfAvailable { own in
            other.text.utf8.withContiguousStorageIfAvailable { other in
                // A comparison of elements takes thirty times as many instructions as `memcmp`.
                memcmp(own.baseAddress!, other.baseAddress!, count) == 0
            }
        }
        return (isEqual ?? nil) ?? text.utf8.prefix(count).elementsEqual(other.text.utf8.prefix(count))
    }

    /// The URI without user information, with its query and fragment.
    public var description: String { text }

    /// The URI for a log: without user information and fragment, and with `***` for the query unless it may be shown.
    func loggedText(showsQuery: Bool) -> String {
        guard !showsQuery, layout.queryEnd > layout.pathEnd else { return requestText }
        return slice(0..<layout.pathEnd + 1) + "***"
    }

    /// The requested URI, with the host in lower case and without the scheme's default port. It usually equals the
    /// written one.
    package var normalizedText: String {
        let isDefaultPort = layout.port.map { $0 == (layout.isSecure ? 443 : 80) } ?? false
        // A colon without a port is removed too.
        let hasPort = layout.port == nil ? layout.authorityEnd > layout.host.upperBound : isDefaultPort
        let host = text.utf8.dropFirst(layout.host.lowerBound).prefix(layout.host.count)
        if !hasPort, !host.contains(where: { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") }) {
            return requestText
        }
        let port = isDefaultPort || layout.port == nil ? "" : ":\(port)"
        return "\(scheme)://\(self.host.lowercased())\(port)\(slice(layout.authorityEnd..<layout.queryEnd))"
    }

    /// The URI without its fragment, which is never sent.
    package var requestText: String { layout.queryEnd == text.utf8.count ? text : slice(0..<layout.queryEnd) }

    /// True if the host is an IPv6 address.
    var hasIPv6Host: Bool { text.utf8.dropFirst(layout.host.lowerBound).prefix(layout.host.count).contains(.colon) }

    /// True if a percent-encoded byte has a small hexadecimal letter, such as `%2e`.
    var isChangedByCapitals: Bool {
        var text = text.utf8[...]
        while let percent = text.firstIndex(of: .percent) {
            if text[percent...].dropFirst().prefix(2).contains(where: { $0 >= UInt8(ascii: "a") }) { return true }
            text = text[percent...].dropFirst()
        }
        return false
    }

    /// The same URI with `https`. Port 80, or none, becomes 443; another port stays (RFC 6797 §8.3).
    func upgraded() -> CurlewURI {
        guard !layout.isSecure else { return self }
        var moved = layout
        moved.isSecure = true
        moved.port = layout.port == 80 ? nil : layout.port
        let authority = host + (moved.port.map { ":\($0)" } ?? "")
        moved.host = 8..<8 + layout.host.count
        moved.authorityEnd = 8 + authority.utf8.count
        let shift = moved.authorityEnd - layout.authorityEnd
        moved.pathEnd += shift
        moved.queryEnd += shift
        let rest = slice(layout.authorityEnd..<text.utf8.count)
        return CurlewURI(text: "https://\(authority)\(rest)", layout: moved, userInformation: userInformation)
    }

    /// The same URI with a slash at the end of its path, for use as a base.
    func asBase() -> CurlewURI {
        guard !path.hasSuffix("/") else { return self }
        var copy = layout
        copy.pathEnd += 1
        copy.queryEnd = copy.pathEnd
        return CurlewURI(text: slice(0..<layout.pathEnd) + "/", layout: copy, userInformation: userInformation)
    }

    private func slice(_ range: Range<Int>) -> String {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        let end = utf8.index(start, offsetBy: range.count)
        return String(text[start..<end])
    }
}

extension CurlewURI {
    /// The URI of `reference` relative to this one (RFC 3986 §5.2).
    ///
    /// An absolute reference replaces this URI. `//host/…` keeps the scheme, `/…` keeps the authority, and `?…` keeps
    /// the path. Dot segments are removed; a fragment of the base is not inherited.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public func resolving(_ reference: String) throws -> CurlewURI {
        let utf8 = reference.utf8
        if URIParser.schemeEnd(of: utf8) != nil { return try CurlewURI(reference).removingDotSegments() }
        let end: Int
        switch utf8.first {
        case nil, UInt8.numberSign: end = layout.queryEnd
        case UInt8.questionMark: end = layout.pathEnd
        case UInt8.slash where utf8.dropFirst().first == .slash:
            return try CurlewURI("\(scheme):\(reference)").removingDotSegments()
        case UInt8.slash: end = layout.authorityEnd
        default: end = folderEnd
        }
        return try CurlewURI(prefix(through: end) + reference).withUserInformation(userInformation)
            .removingDotSegments()
    }

    /// The offset of the path's last segment.
    private var folderEnd: Int {
        let utf8 = text.utf8
        var index = utf8.index(utf8.startIndex, offsetBy: layout.pathEnd)
        var offset = layout.pathEnd
        while offset > layout.authorityEnd {
            utf8.formIndex(before: &index)
            if utf8[index] == .slash { return offset }
            offset -= 1
        }
        return offset
    }

    private func prefix(through offset: Int) -> String {
        guard offset < text.utf8.count else { return text }
        return String(text[..<text.utf8.index(text.startIndex, offsetBy: offset)])
    }

    func withUserInformation(_ userInformation: String?) -> CurlewURI {
        userInformation == nil ? self : CurlewURI(text: text, layout: layout, userInformation: userInformation)
    }

    /// The same URI without user and password.
    package var withoutUserInformation: CurlewURI {
        userInformation == nil ? self : CurlewURI(text: text, layout: layout, userInformation: nil)
    }

    /// The URI without dot segments (RFC 3986 §5.2.4).
    func removingDotSegments() -> CurlewURI {
        guard layout.hasDotSegment else { return self }
        let path = self.path
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default:
                kept.append(segment)
            }
        }
        let shorter = "/" + kept.joined(separator: "/")
        let shift = path.utf8.count - shorter.utf8.count
        var moved = layout
        moved.pathEnd -= shift
        moved.queryEnd -= shift
        moved.hasDotSegment = kept.contains { $0.hasPrefix(".") }
        let rest = String(decoding: text.utf8.dropFirst(layout.pathEnd), as: UTF8.self)
        let whole = prefix(through: layout.authorityEnd) + shorter + rest
        return CurlewURI(text: whole, layout: moved, userInformation: userInformation)
    }
}
