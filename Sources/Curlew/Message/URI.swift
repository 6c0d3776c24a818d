/// An absolute `http` or `https` URI (RFC 3986), checked and ready to be requested.
///
/// Reading is strict where a mistake could be an attack and lenient where it is a typing habit:
/// - control characters, an unknown scheme, an empty host, a bad port and a `\` in the authority are errors;
/// - an international host name becomes its ASCII form (UTS #46), or is an error where it has none, and always without
///   the package's trait `InternationalNames`, which is on by default;
/// - spaces, non-ASCII text and the characters `" < > \ ^ ` { | }` in path and query are percent-encoded.
///
/// ```swift
/// let uri = try URI("https://example.com/v1/")
/// try uri.resolving("foo?bar=baz").description  // https://example.com/v1/foo?bar=baz
/// ```
public struct URI: Sendable, Hashable, CustomStringConvertible {
    /// The whole URI without user information, its path never empty.
    let text: String
    /// Where the parts of `text` begin, as UTF-8 offsets.
    let layout: Layout
    /// `user:password`, percent-decoded, if the URI carried it. Never part of `description`.
    let userInformation: String?

    struct Layout: Sendable, Hashable {
        var isSecure = false
        var host = 0..<0
        var port: UInt16?
        var authorityEnd = 0
        var pathEnd = 0
        var queryEnd = 0
        /// Whether a segment of the path begins with a dot.
        var hasDotSegment = false
    }

    /// Reads an absolute URI.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(_ string: String) throws {
        self = try URIParser.absolute(string)
    }

    init(text: String, layout: Layout, userInformation: String?) {
        self.text = text
        self.layout = layout
        self.userInformation = userInformation
    }

    /// `http` or `https`.
    public var scheme: String { layout.isSecure ? "https" : "http" }

    /// The host as written; an IPv6 address keeps its brackets, and an international name is in its ASCII form (`xn--…`).
    public var host: String { slice(layout.host) }

    /// The port as written, else the scheme's: 80 or 443.
    public var port: Int { layout.port.map(Int.init) ?? (layout.isSecure ? 443 : 80) }

    /// Host and, if one was written, port.
    public var authority: String { slice(layout.host.lowerBound..<layout.authorityEnd) }

    /// The path, beginning with a slash, percent-encoded.
    public var path: String { slice(layout.authorityEnd..<layout.pathEnd) }

    /// What stands between `?` and `#`, percent-encoded; nil without a question mark.
    public var query: String? {
        layout.queryEnd > layout.pathEnd ? slice(layout.pathEnd + 1..<layout.queryEnd) : nil
    }

    /// What stands after `#`, percent-encoded; nil without one. It is never sent.
    public var fragment: String? {
        layout.queryEnd < text.utf8.count ? slice(layout.queryEnd + 1..<text.utf8.count) : nil
    }

    /// Scheme, host in lower case and effective port: what RFC 6454 calls the origin.
    public var origin: String { "\(scheme)://\(host.lowercased()):\(port)" }

    /// The URI without user information, so that it may be logged.
    public var description: String { text }

    /// The URI without its fragment: what is requested.
    var requestText: String { layout.queryEnd == text.utf8.count ? text : slice(0..<layout.queryEnd) }

    /// The same URI with its path made to end in a slash, as a base is read.
    func asBase() -> URI {
        guard !path.hasSuffix("/") else { return self }
        var copy = layout
        copy.pathEnd += 1
        copy.queryEnd = copy.pathEnd
        return URI(text: slice(0..<layout.pathEnd) + "/", layout: copy, userInformation: userInformation)
    }

    private func slice(_ range: Range<Int>) -> String {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        let end = utf8.index(start, offsetBy: range.count)
        return String(text[start..<end])
    }
}
