/// Looks for a boundary in the bodies of parts, in pieces as they go out. It holds as many bytes as the boundary has.
struct BoundaryWatch: Sendable {
    /// A line that begins with the boundary ends a part for whoever reads the form (RFC 2046 §5.1.1), whatever follows.
    private let search: DelimiterSearch
    /// The end of what was seen, which may be the boundary's beginning.
    private var tail: [UInt8] = []

    init(_ boundary: MultipartBoundary) { search = DelimiterSearch(Array("\n--\(boundary.text)".utf8)) }

    /// A part's body comes next: at the beginning of a line.
    mutating func begin() { tail = [.lineFeed] }

    /// Looks at the next bytes of a body.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` if the boundary stands there.
    mutating func pass(_ bytes: [UInt8]) throws {
        let rest = search.pattern.count - 1
        let seam = tail + bytes.prefix(rest)
        guard search.firstMatch(in: seam, from: 0) == nil, search.firstMatch(in: bytes, from: 0) == nil else {
            throw CurlewError(.bodyFailed, "a line of its body begins with the boundary of the form")
        }
        tail = Array((bytes.count < rest ? seam : bytes).suffix(rest))
    }
}
