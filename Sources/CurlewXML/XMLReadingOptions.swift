/// The options of reading XML.
///
/// External entities and document types are never fetched. A document type with its own declarations (`<!DOCTYPE … [ …
/// ]>`) is rejected, because it could refer to files or define entities that expand without limit.
public struct XMLReadingOptions: Sendable, Hashable {
    /// The maximum nesting depth of elements: 1 to 512; 512 by default.
    public var maximumDepth = 512 {
        didSet { maximumDepth = min(max(maximumDepth, 1), 512) }
    }

    public init() {}
}
