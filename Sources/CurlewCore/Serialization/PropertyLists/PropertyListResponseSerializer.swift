public import FoundationEssentials

/// Decodes a property list, XML or binary, as a `Decodable` type.
///
/// It accepts `application/x-plist` by default. Before decoding, the list is checked for its depth, for declarations in
/// XML, and, in the binary form, for references that are circular or expand too much.
///
/// A key with more than ``JSONCoding/ReadingOptions/combiningMarkLimit`` combining marks in a row is
/// ``ErrorCode/decodingFailed``. So are two keys of a dictionary that are canonically equal, but have different code
/// points: Foundation's decoder would keep one of the two. Of keys with the same code points Foundation keeps one.
///
/// An empty body is nil for an optional type, a value for ``NoContent``, and ``ErrorCode/emptyBody`` for any other
/// type.
public struct PropertyListResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.propertyList))
    /// The limits on the list.
    public var options: PropertyListReadingOptions
    private let configure: (@Sendable (PropertyListDecoder) -> Void)?

    /// - Parameters:
    ///   - type: The type of the value.
    ///   - options: The limits on the list.
    ///   - configure: Configures the decoder. Every call has its own decoder.
    public init(
        _ type: Value.Type = Value.self,
        options: PropertyListReadingOptions = PropertyListReadingOptions(),
        configure: (@Sendable (PropertyListDecoder) -> Void)? = nil
    ) {
        self.options = options
        self.configure = configure
    }

    public var format: String { "a property list" }

    public func decode(_ response: CurlewResponse.Collected) throws -> Value {
        guard !response.body.isEmpty else {
            guard let value = emptyBody(for: Value.self) else {
                throw CurlewError(.emptyBody, "there is no body, and the requested type needs one")
            }
            return value
        }
        try PropertyListCheck.check(response.body, options: options)
        let decoder = PropertyListDecoder()
        configure?(decoder)
        return try decoder.decode(Value.self, from: Data(response.body))
    }
}

extension ResponseSerializer {
    /// The body as a value of a type, decoded from a property list.
    public static func propertyList<Model: Decodable & Sendable>(
        _ type: Model.Type,
        options: PropertyListReadingOptions = PropertyListReadingOptions()
    ) -> Self where Self == PropertyListResponseSerializer<Model> {
        PropertyListResponseSerializer(type, options: options)
    }
}

/// The limits on property lists. They are checked before decoding.
public struct PropertyListReadingOptions: Sendable, Hashable {
    /// The deepest nesting of arrays and dictionaries. 512 by default, which is also the maximum.
    public var maximumDepth = 512 {
        didSet { maximumDepth = min(max(maximumDepth, 1), 512) }
    }
    /// The largest size of a binary list after all references are followed. 256 MiB by default, counting 16 bytes for
    /// each value besides its content.
    ///
    /// The values of a list refer to each other by number, so a few bytes can expand to any size. Besides the size, the
    /// number of values is limited to 100,000 and another value for each byte of the list. Each key counts as a value,
    /// and as another one for every 256 bytes of its text.
    public var expandedSize: ByteSize = .mebibytes(256)

    public init() {}
}

/// Checks a property list before Foundation's decoder reads it.
package enum PropertyListCheck {
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for bytes that are not a list, for a list that is
    ///   too deep, too large, or circular, and for keys that a dictionary of Swift cannot hold.
    package static func check(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        if bytes.starts(with: "bplist0".utf8) {
            var walk = try BinaryPropertyListWalk(bytes, options: options)
            try walk.run()
            return
        }
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        let first = text.first { $0 != .space && $0 != .lineFeed && $0 != .carriageReturn && $0 != .tab }
        guard first == UInt8(ascii: "<") else { throw fault("it is neither XML nor binary") }
        // Text with NULs is UTF-16 or UTF-32, whose tags this check could not see.
        guard !bytes.contains(0) else { throw fault("XML property lists are read as UTF-8 only") }
        try XMLTagScan.check(bytes, maximumDepth: options.maximumDepth, reader: .propertyLists)
    }

    static func fault(_ message: String) -> CurlewError {
        CurlewError(.decodingFailed, "the property list cannot be used: \(message)")
    }
}
