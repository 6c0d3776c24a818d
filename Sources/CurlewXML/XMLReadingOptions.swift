/// How XML is read.
///
/// Nothing is ever fetched: neither external entities nor document types. A document type with declarations of its own
/// (`<!DOCTYPE … [ … ]>`) is refused, as these could name files, or entities that grow without measure.
public struct XMLReadingOptions: Sendable, Hashable {
    /// The greatest depth to which elements may be nested. 512 by default, and at most.
    public var maximumDepth = 512 {
        didSet { maximumDepth = min(max(maximumDepth, 1), 512) }
    }

    public init() {}
}
