internal import Curlew

extension StructuredField {
    /// The largest size of a field: 64 KiB.
    static let sizeLimit = 64 << 10

    /// - Returns: nil for text that violates RFC 9651, and for more than 64 KiB.
    static func dictionary(_ text: [UInt8]) -> Dictionary? { parse(text) { $0.dictionary() } }

    static func list(_ text: [UInt8]) -> [Member]? { parse(text) { $0.list() } }

    static func item(_ text: [UInt8]) -> Item? { parse(text) { $0.item() } }

    private static func parse<Value>(_ text: [UInt8], _ body: (inout Parser) -> Value?) -> Value? {
        guard text.count <= sizeLimit, text.allSatisfy({ $0 < 0x80 }) else { return nil }
        var parser = Parser(rest: text[...])
        parser.skipSpaces()
        guard let value = body(&parser) else { return nil }
        parser.skipSpaces()
        return parser.rest.isEmpty ? value : nil
    }
}

/// A parser that reads from left to right (RFC 9651 §4.2). Each function returns nil for invalid text.
private struct Parser {
    var rest: ArraySlice<UInt8>

    mutating func skipSpaces() { rest = rest.drop { $0 == .space } }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: condition)
        rest = rest[taken.endIndex...]
        return taken
    }

    /// Skips a comma between two members; false if a comma is missing, or if no member follows it.
    private mutating func passComma() -> Bool {
        rest = rest.drop(while: \.isBlank)
        if rest.isEmpty { return true }
        guard take(.comma) else { return false }
        rest = rest.drop(while: \.isBlank)
        return !rest.isEmpty
    }

    // MARK: Containers

    mutating func list() -> [StructuredField.Member]? {
        var members: [StructuredField.Member] = []
        while !rest.isEmpty {
            guard let member = member(), passComma() else { return nil }
            members.append(member)
        }
        return members
    }

    mutating func dictionary() -> StructuredField.Dictionary? {
        var dictionary = StructuredField.Dictionary()
        var places: [String: Int] = [:]
        while !rest.isEmpty {
            guard let key = key() else { return nil }
            let member: StructuredField.Member
            if take(.equals) {
                guard let value = self.member() else { return nil }
                member = value
            } else {
                guard let parameters = parameters() else { return nil }
                member = .item(StructuredField.Item(value: .boolean(true), parameters: parameters))
            }
            if let place = places[key] {
                dictionary.entries[place].member = member
                dictionary.repeatedKeys.insert(key)
            } else {
                places[key] = dictionary.entries.count
                dictionary.entries.append(StructuredField.Dictionary.Entry(key: key, member: member))
            }
            guard passComma() else { return nil }
        }
        return dictionary
    }

    private mutating func member() -> StructuredField.Member? {
        guard take(UInt8(ascii: "(")) else { return item().map { .item($0) } }
        var items: [StructuredField.Item] = []
        while true {
            skipSpaces()
            if take(UInt8(ascii: ")")) { break }
            guard let item = item(), rest.first == .space || rest.first == UInt8(ascii: ")") else { return nil }
            items.append(item)
        }
        return parameters().map { .innerList(StructuredField.InnerList(items: items, parameters: $0)) }
    }

    // MARK: Items

    mutating func item() -> StructuredField.Item? {
        guard let value = bareItem(), let parameters = parameters() else { return nil }
        return StructuredField.Item(value: value, parameters: parameters)
    }

    private mutating func parameters() -> [StructuredField.Parameter]? {
        var parameters: [StructuredField.Parameter] = []
        while take(.semicolon) {
            skipSpaces()
            guard let key = key() else { return nil }
            var value = StructuredField.BareItem.boolean(true)
            if take(.equals) {
                guard let given = bareItem() else { return nil }
                value = given
            }
            if let place = parameters.firstIndex(where: { $0.key == key }) {
                parameters[place].value = value
            } else {
                // The search above is slow for many parameters.
                guard parameters.count < 256 else { return nil }
                parameters.append(StructuredField.Parameter(key: key, value: value))
            }
        }
        return parameters
    }

    private mutating func key() -> String? {
        guard let first = rest.first, first.isLowercase || first == UInt8(ascii: "*") else { return nil }
        let key = take { $0.isLowercase || $0.isDigit || "_-.*".utf8.contains($0) }
        return String(decoding: key, as: UTF8.self)
    }

    private mutating func bareItem() -> StructuredField.BareItem? {
        guard let first = rest.first else { return nil }
        switch first {
        case .minus: return number()
        case .quote: return string()
        case .colon: return bytes()
        case .percent: return displayString()
        case UInt8(ascii: "@"):
            rest = rest.dropFirst()
            guard case .integer(let seconds) = number() else { return nil }
            return .date(seconds)
        case UInt8(ascii: "?"):
            rest = rest.dropFirst()
            if take(UInt8(ascii: "1")) { return .boolean(true) }
            return take(UInt8(ascii: "0")) ? .boolean(false) : nil
        case _ where first.isDigit: return number()
        case _ where first.isLetter || first == UInt8(ascii: "*"):
            let token = take { $0.isTokenByte || $0 == .colon || $0 == .slash }
            return .token(String(decoding: token, as: UTF8.self))
        default: return nil
        }
    }

    private mutating func number() -> StructuredField.BareItem? {
        let isNegative = take(.minus)
        let whole = take(while: \.isDigit)
        guard !whole.isEmpty, whole.count <= 15, let number = Int64(String(decoding: whole, as: UTF8.self)) else {
            return nil
        }
        guard rest.first == .dot else { return .integer(isNegative ? -number : number) }
        rest = rest.dropFirst()
        let fraction = take(while: \.isDigit)
        guard whole.count <= 12, (1...3).contains(fraction.count) else { return nil }
        var thousandths = number
        for digit in 0..<3 {
            let place = fraction.startIndex + digit
            thousandths =
                thousandths * 10 + (place < fraction.endIndex ? Int64(fraction[place] - UInt8(ascii: "0")) : 0)
        }
        return .decimal(thousandths: isNegative ? -thousandths : thousandths)
    }

    private mutating func string() -> StructuredField.BareItem? {
        rest = rest.dropFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case .quote: return .string(String(decoding: text, as: UTF8.self))
            case .backslash:
                guard let escaped = rest.popFirst(), escaped == .quote || escaped == .backslash else { return nil }
                text.append(escaped)
            case _ where byte.isVisible || byte == .space: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func bytes() -> StructuredField.BareItem? {
        rest = rest.dropFirst()
        let text = take { $0 != .colon }
        guard take(.colon) else { return nil }
        return Base64.decode(text).map { .bytes($0) }
    }

    private mutating func displayString() -> StructuredField.BareItem? {
        rest = rest.dropFirst()
        guard take(.quote) else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case .quote: return String(validating: text, as: UTF8.self) == nil ? nil : .displayString(text)
            case .percent:
                let digits = rest.prefix(2)
                let values = digits.compactMap(\.hexValue)
                guard values.count == 2, digits.allSatisfy({ $0.isDigit || $0.isLowercase }) else { return nil }
                text.append(values[0] << 4 | values[1])
                rest = rest.dropFirst(2)
            case _ where byte.isVisible || byte == .space: text.append(byte)
            default: return nil
            }
        }
        return nil
    }
}
