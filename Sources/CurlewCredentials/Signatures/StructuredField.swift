internal import Curlew

/// The types of structured fields (RFC 9651), and their text.
enum StructuredField {
    /// A value without parameters. Texts are ASCII, so their comparison is a comparison of bytes.
    enum BareItem: Hashable, Sendable {
        case integer(Int64)
        case decimal(thousandths: Int64)
        case string(String)
        case token(String)
        case bytes([UInt8])
        case boolean(Bool)
        case date(Int64)
        /// Text in UTF-8.
        case displayString([UInt8])
    }

    struct Parameter: Hashable, Sendable {
        let key: String
        var value: BareItem
    }

    struct Item: Hashable, Sendable {
        var value: BareItem
        var parameters: [Parameter] = []
    }

    struct InnerList: Hashable, Sendable {
        var items: [Item]
        var parameters: [Parameter] = []
    }

    enum Member: Hashable, Sendable {
        case item(Item)
        case innerList(InnerList)
    }

    struct Dictionary: Hashable, Sendable {
        struct Entry: Hashable, Sendable {
            let key: String
            var member: Member
        }

        var entries: [Entry] = []
        /// The keys that occur more than once in the text. The dictionary contains the last member of each.
        var repeatedKeys: Set<String> = []

        subscript(key: String) -> Member? { entries.first { $0.key == key }?.member }
    }

    /// The three types of structured fields.
    enum Kind: Hashable, Sendable {
        case item
        case list
        case dictionary
    }
}

// MARK: Text

extension StructuredField.BareItem {
    /// The text (RFC 9651 §4.1.3.1).
    var text: String {
        switch self {
        case .integer(let number): return "\(number)"
        case .decimal(let thousandths):
            let magnitude = thousandths.magnitude
            var fraction = String(magnitude % 1000 + 1000).dropFirst()
            while fraction.utf8.count > 1, fraction.utf8.last == UInt8(ascii: "0") { fraction = fraction.dropLast() }
            return "\(thousandths < 0 ? "-" : "")\(magnitude / 1000).\(fraction)"
        case .string(let text):
            var quoted: [UInt8] = [.quote]
            for byte in text.utf8 {
                if byte == .quote || byte == .backslash { quoted.append(.backslash) }
                quoted.append(byte)
            }
            return String(decoding: quoted + [.quote], as: UTF8.self)
        case .token(let text): return text
        case .bytes(let bytes): return ":\(Base64.encode(bytes)):"
        case .boolean(let isTrue): return isTrue ? "?1" : "?0"
        case .date(let seconds): return "@\(seconds)"
        case .displayString(let bytes):
            let encoded = bytes.map { byte in
                let isPlain = (byte.isVisible || byte == .space) && byte != .percent && byte != .quote
                return isPlain ? String(decoding: [byte], as: UTF8.self) : "%\([byte].hexadecimal)"
            }
            return "%\"\(encoded.joined())\""
        }
    }
}

extension [StructuredField.Parameter] {
    var text: String {
        map { $0.value == .boolean(true) ? ";\($0.key)" : ";\($0.key)=\($0.value.text)" }.joined()
    }

    subscript(key: String) -> StructuredField.BareItem? { first { $0.key == key }?.value }
}

extension StructuredField.Item {
    var text: String { value.text + parameters.text }
}

extension StructuredField.InnerList {
    var text: String { "(\(items.map(\.text).joined(separator: " ")))\(parameters.text)" }
}

extension StructuredField.Member {
    var text: String {
        switch self {
        case .item(let item): item.text
        case .innerList(let list): list.text
        }
    }
}

extension StructuredField.Dictionary {
    var text: String {
        entries.map { entry in
            guard case .item(let item) = entry.member, item.value == .boolean(true) else {
                return "\(entry.key)=\(entry.member.text)"
            }
            return entry.key + item.parameters.text
        }.joined(separator: ", ")
    }
}
