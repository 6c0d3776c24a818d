public import FoundationEssentials

/// Reads a property list, XML or binary, into a `Decodable` type.
///
/// It takes `application/x-plist` by default. Before it is decoded the list is checked:
/// depth, declarations in XML, and in the binary form references that go in circles or grow without measure.
///
/// An empty body is nil for an optional type, ``NoContent`` for that, and ``ErrorCode/emptyBody`` for any other type.
public struct PropertyListResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.propertyList))
    /// Bounds on the list.
    public var options: PropertyListReadingOptions
    private let configure: (@Sendable (PropertyListDecoder) -> Void)?

    /// - Parameters:
    ///   - type: What to make of the list.
    ///   - options: Bounds on the list.
    ///   - configure: Sets up the decoder. Every call has a decoder of its own.
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
                throw CurlewError(.emptyBody, "there is no body, and the type that was asked for needs one")
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
    /// The body as a property list of a type.
    public static func propertyList<Model: Decodable & Sendable>(
        _ type: Model.Type,
        options: PropertyListReadingOptions = PropertyListReadingOptions()
    ) -> Self where Self == PropertyListResponseSerializer<Model> {
        PropertyListResponseSerializer(type, options: options)
    }
}

/// Bounds on property lists. They are checked before the list is decoded.
public struct PropertyListReadingOptions: Sendable, Hashable {
    /// The deepest nesting of arrays and dictionaries. 512 by default, and at most.
    public var maximumDepth = 512 {
        didSet { maximumDepth = min(max(maximumDepth, 1), 512) }
    }
    /// The largest size of a binary list when every reference in it is followed: its values refer to each other by number,
    /// so a few bytes can stand for any amount. 256 MiB by default, with 16 bytes for each value besides its content.
    public var expandedSize: ByteSize = .mebibytes(256)

    public init() {}
}

/// Checks a property list before Foundation's decoder sees it.
package enum PropertyListCheck {
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for what is no list, too deep, too large, or refers to
    ///   itself.
    package static func check(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        if bytes.starts(with: "bplist0".utf8) {
            var walk = try BinaryPropertyListWalk(bytes, options: options)
            try walk.run()
            return
        }
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        let first = text.first { $0 != .space && $0 != .lineFeed && $0 != .carriageReturn && $0 != .tab }
        guard first == UInt8(ascii: "<") else { throw fault("it is neither XML nor binary") }
        // With NULs in it the text is UTF-16 or UTF-32, and its tags would not be seen here.
        guard !bytes.contains(0) else { throw fault("XML property lists are read as UTF-8 only") }
        try XMLTagScan.check(bytes, maximumDepth: options.maximumDepth, tagEnd: .first)
    }

    static func fault(_ message: String) -> CurlewError {
        CurlewError(.decodingFailed, "the property list cannot be used: \(message)")
    }
}
