extension JSONValue: CustomStringConvertible {
    /// The value as JSON text without white space, members in their order.
    public var description: String { String(decoding: jsonBytes(), as: UTF8.self) }

    /// The value as JSON in UTF-8 without white space.
    /// - Parameter sortsKeys: Whether members are put in the order of their names' code points.
    public func jsonBytes(sortsKeys: Bool = false) -> [UInt8] {
        var writer = JSONValueWriter(sortsKeys: sortsKeys)
        writer.write(self)
        return writer.bytes
    }
}

/// Writes JSON (RFC 8259).
private struct JSONValueWriter {
    let sortsKeys: Bool
    var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.description)
        case .string(let text): writeString(text)
        case .array(let values): writeList(values, .openBracket, .closeBracket) { $0.write($1) }
        case .object(let object):
            let members = sortsKeys ? object.sorted { precedes($0.key, $1.key) } : Array(object)
            writeList(members, .openBrace, .closeBrace) { writer, member in
                writer.writeString(member.key)
                writer.bytes.append(.colon)
                writer.write(member.value)
            }
        }
    }

    private func precedes(_ left: String, _ right: String) -> Bool {
        left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
    }

    private mutating func writeList<Element>(
        _ elements: [Element], _ open: UInt8, _ close: UInt8, _ write: (inout JSONValueWriter, Element) -> Void
    ) {
        bytes.append(open)
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(.comma) }
            write(&self, element)
        }
        bytes.append(close)
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func writeString(_ text: String) {
        bytes.append(.quote)
        for byte in text.utf8 {
            switch byte {
            case .quote, .backslash: bytes += [.backslash, byte]
            case .lineFeed: append("\\n")
            case .carriageReturn: append("\\r")
            case .tab: append("\\t")
            case 0..<0x20: bytes += Array("\\u00".utf8) + [hexDigit(byte >> 4), hexDigit(byte & 15)]
            default: bytes.append(byte)
            }
        }
        bytes.append(.quote)
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
