internal import CurlewSupport
internal import FoundationEssentials

/// The forms in which types are read from JSON. A form is determined by casts, once for each type, and then stored.
struct JSONTypes {
    /// The way of reading values of a type.
    enum Form {
        /// The type's own `init(from:)`.
        case itself
        /// The type's own `init(from:)` for a dictionary, whose names are data.
        case namedByItself
        case string, integer, double, bool
        case date, data, url, decimal
        case tree
        case strings, integers, doubles
        /// Another array, or a dictionary with strings as keys.
        case collection(any JSONDecodableCollection.Type)
    }

    private struct Entry {
        let type: ObjectIdentifier
        let form: Form
    }

    private static let shared = Guarded(JSONTypes())
    /// The known forms of this process.
    static var current: JSONTypes { shared.withLock { $0 } }

    /// Stores the forms that a decoding has determined.
    static func keep(_ types: JSONTypes) {
        guard types.isChanged else { return }
        shared.withLock { if $0.count < types.count { $0 = types } }
    }

    /// The entries. The entry of a type is at its hash, or at the next free slot; the table always has free slots.
    private var entries: [Entry?] = Array(repeating: nil, count: 64)
    private var count = 0
    private var isChanged = false

    /// The form of a type.
    @inline(__always)
    mutating func form<Value: Decodable>(of type: Value.Type) -> Form {
        let identifier = ObjectIdentifier(type)
        var slot = slot(of: identifier)
        while let entry = entries[slot] {
            if entry.type == identifier { return entry.form }
            slot = (slot + 1) & (entries.count - 1)
        }
        return add(type)
    }

    @inline(__always)
    private func slot(of type: ObjectIdentifier) -> Int {
        let bits = UInt(bitPattern: type)
        return Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) >> 32) & (entries.count - 1)
    }

    private mutating func add<Value: Decodable>(_ type: Value.Type) -> Form {
        if count * 2 >= entries.count { grow() }
        let entry = Entry(type: ObjectIdentifier(type), form: Self.found(for: type))
        insert(entry)
        isChanged = true
        return entry.form
    }

    private mutating func insert(_ entry: Entry) {
        var slot = slot(of: entry.type)
        while entries[slot] != nil { slot = (slot + 1) & (entries.count - 1) }
        entries[slot] = entry
        count += 1
    }

    private mutating func grow() {
        let old = entries
        entries = Array(repeating: nil, count: old.count * 2)
        count = 0
        for case let entry? in old { insert(entry) }
    }

    private static func found<Value: Decodable>(for type: Value.Type) -> Form {
        if type == String.self { return .string }
        if type == Int.self { return .integer }
        if type == Double.self { return .double }
        if type == Bool.self { return .bool }
        if type == Date.self { return .date }
        if type == Data.self { return .data }
        if type == URL.self { return .url }
        if type == Decimal.self { return .decimal }
        if type == JSONValue.self { return .tree }
        if type == [String].self { return .strings }
        if type == [Int].self { return .integers }
        if type == [Double].self { return .doubles }
        if let collection = type as? any JSONDecodableCollection.Type { return .collection(collection) }
        return type is any DictionaryWithKeysOfItsOwn.Type ? .namedByItself : .itself
    }
}

/// A collection of the standard library that is read without a container call for each element.
protocol JSONDecodableCollection {
    static func read(at place: JSONTape.Place, in parent: JSONTape.Place, of decoding: JSONDecoding) throws -> Self
}

extension Array: JSONDecodableCollection where Element: Decodable {
    static func read(
        at place: JSONTape.Place, in parent: JSONTape.Place, of decoding: JSONDecoding
    ) throws -> [Element] {
        let form = decoding.form(of: Element.self)
        return try decoding.elements(at: place, in: parent) { element throws in
            try decoding.value(Element.self, as: form, at: element, in: place)
        }
    }
}

extension Dictionary: JSONDecodableCollection where Key == String, Value: Decodable {
    static func read(
        at place: JSONTape.Place, in parent: JSONTape.Place, of decoding: JSONDecoding
    ) throws -> [String: Value] {
        guard decoding.kind(at: place) == .object else {
            throw decoding.mismatch([String: Any].self, at: place, in: parent)
        }
        var table: [String: Value] = [:]
        let form = decoding.form(of: Value.self)
        try decoding.tape.tokens.forEachMember(of: place) { member throws in
            let value = try decoding.value(Value.self, as: form, at: member + 1, in: place)
            // Two names with different bytes may be equal Swift strings; the first counts, as with Foundation.
            let name = decoding.tape.nameString(at: member)
            if table[name] == nil { table[name] = value }
        }
        return table
    }
}
