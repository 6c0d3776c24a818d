/// Which media types a serializer takes.
///
/// A list of ranges as ``MediaType/matches(_:)`` reads them, or anything.
public struct AcceptableContent: Sendable, Hashable {
    /// The ranges; nil if anything is taken.
    public let ranges: [MediaType]?

    /// Anything, also a response without a Content-Type.
    public static let any = AcceptableContent(ranges: nil)

    /// The types within one of the ranges.
    public static func types(_ ranges: [MediaType]) -> AcceptableContent { AcceptableContent(ranges: ranges) }

    /// The types within one of the ranges.
    public static func types(_ ranges: MediaType...) -> AcceptableContent { AcceptableContent(ranges: ranges) }

    /// What either of the two takes.
    public func union(_ other: AcceptableContent) -> AcceptableContent {
        guard let ranges, let others = other.ranges else { return .any }
        return AcceptableContent(ranges: ranges + others.filter { !ranges.contains($0) })
    }

    /// Whether a type is taken. No type at all is taken only by ``any``.
    public func accepts(_ type: MediaType?) -> Bool {
        guard let ranges else { return true }
        guard let type else { return false }
        return ranges.contains { type.matches($0) }
    }
}
