internal import Curlew
internal import CurlewXML
internal import FoundationEssentials

/// Serializer values as JSON.
extension JSONValue {
    /// Unchanged JSON: members in order, numbers with their digits as far as the library keeps them.
    init(_ value: Curlew.JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .number(let number): self = .number(number.description)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { JSONValue($0) })
        case .object(let object): self = .object(object.map { Member($0.key, JSONValue($0.value)) })
        }
    }

    /// A property list: dates in ISO 8601, data in base64, keys sorted.
    init(_ value: PropertyListValue) {
        switch value {
        case .boolean(let flag): self = .bool(flag)
        case .integer(let digits): self = .number(digits)
        // JSON has no infinity or NaN.
        case .real(let number): self = number.isFinite ? .number("\(number)") : .string("\(number)")
        case .string(let text): self = .string(text)
        case .date(let date): self = .string(Self.text(of: date))
        case .data(let bytes): self = .base64(bytes)
        case .array(let elements): self = .array(elements.map { JSONValue($0) })
        case .dictionary(let members):
            self = .object(members.sorted { $0.key < $1.key }.map { Member($0.key, JSONValue($0.value)) })
        }
    }

    /// An XML element. The library does not keep the order of attributes, so they are sorted. Comments and instructions
    /// are omitted.
    init(_ element: XMLTree.Element) {
        let attributes = element.attributes.sorted { $0.key < $1.key }
        self = .object([
            Member("name", .string(element.name.qualified)),
            Member("attributes", .array(attributes.map { .array([.string($0.key), .string($0.value)]) })),
            Member("children", .array(Self.children(of: element))),
        ])
    }

    /// Text on both sides of an omitted node is one text.
    private static func children(of element: XMLTree.Element) -> [JSONValue] {
        var children: [JSONValue] = []
        for node in element.children {
            switch node {
            case .element(let child): children.append(JSONValue(child))
            case .text(let text):
                if case .string(let before) = children.last {
                    children[children.count - 1] = .string(before + text)
                } else {
                    children.append(.string(text))
                }
            case .comment, .instruction: break
            }
        }
        return children
    }

    /// The body of an unacceptable status, as a serializer has decoded it; nil for other types.
    init?(parsedBody: any Sendable) {
        switch parsedBody {
        case let value as Curlew.JSONValue: self.init(value)
        case let value as PropertyListValue: self.init(value)
        case let tree as XMLTree: self.init(tree.root)
        case let text as String: self = .string(text)
        case let bytes as [UInt8]: self = .base64(bytes)
        default: return nil
        }
    }

    /// Bytes in base64 (RFC 4648 §4).
    static func base64(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }

    /// A date in ISO 8601; fractions of a second are shown if present.
    private static func text(of date: Date) -> String {
        let isWhole = date.timeIntervalSince1970.rounded() == date.timeIntervalSince1970
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole))
    }
}

/// A property list of any shape.
enum PropertyListValue: Sendable, Decodable {
    case boolean(Bool)
    /// The digits of an integer of up to 64 bits, signed or not.
    case integer(String)
    case real(Double)
    case string(String)
    case date(Date)
    case data([UInt8])
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            var members: [String: PropertyListValue] = [:]
            for key in container.allKeys {
                members[key.stringValue] = try container.decode(PropertyListValue.self, forKey: key)
            }
            self = .dictionary(members)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [PropertyListValue] = []
            while !container.isAtEnd { elements.append(try container.decode(PropertyListValue.self)) }
            self = .array(elements)
        } else {
            self = try Self.scalar(try decoder.singleValueContainer())
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> PropertyListValue {
        if let text = try? container.decode(String.self) { return .string(text) }
        if let date = try? container.decode(Date.self) { return .date(date) }
        if let data = try? container.decode(Data.self) { return .data(Array(data)) }
        if let flag = try? container.decode(Bool.self) { return .boolean(flag) }
        if let integer = try? container.decode(Int64.self) { return .integer("\(integer)") }
        if let integer = try? container.decode(UInt64.self) { return .integer("\(integer)") }
        return .real(try container.decode(Double.self))
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
