import Foundation

@testable import CurlewJSON

/// A value that a closure encodes.
struct EncodedBy: Encodable {
    let code: @Sendable (any Encoder) throws -> Void

    init(_ code: @escaping @Sendable (any Encoder) throws -> Void) { self.code = code }

    func encode(to encoder: any Encoder) throws { try code(encoder) }
}

/// A key with any name.
struct AnyKey: CodingKey {
    let stringValue: String

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    var intValue: Int? { nil }
}

/// The JSON of a value, written directly or through the tree.
struct BothWays {
    var encoder = ParameterEncoder()
    var style: JSONCoding.Style

    init(options: JSONCoding.Style.Options = [.fragmentsAllowed], keys: ParameterEncoder.KeyNaming = .asWritten) {
        style = JSONCoding.Style()
        style.options = options
        encoder.keyNaming = keys
    }

    private var encoding: JSONEncoding { JSONEncoding(encoder: encoder, style: style) }

    /// The text that is written directly; nil if the tree is needed.
    func atOnce(_ value: some Encodable) -> String? {
        encoding.bytesAtOnce(of: value).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The text that is written through a tree.
    func byTree(_ value: some Encodable) throws -> String {
        String(decoding: try encoding.bytesByTree(of: value), as: UTF8.self)
    }

    /// The text that callers get.
    func text(_ value: some Encodable) throws -> String {
        String(decoding: try encoding.bytes(of: value), as: UTF8.self)
    }
}
