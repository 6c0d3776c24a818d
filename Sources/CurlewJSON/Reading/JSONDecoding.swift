internal import FoundationEssentials

/// A decoding of a tape: the rules and the shared state of its decoder and containers.
final class JSONDecoding {
    typealias Place = JSONTape.Place

    let tape: JSONTape
    let coding: JSONCoding
    let userInfo: [CodingUserInfoKey: any Sendable]
    private let renamesKeys: Bool
    private let readsNonFinite: Bool
    /// The JSON names of the keys that were requested so far.
    private var names: [String: String] = [:]
    // Both properties are only accessed by functions that call no other code meanwhile.
    @exclusivity(unchecked) private var types: JSONTypes
    /// The containers for reuse; nil after the end of the decoding. A decoder that is retained longer retains the
    /// decoding, which must not retain its containers.
    @exclusivity(unchecked) private var containers: JSONContainerCache?

    /// - Parameter reusesContainers: True if keyed containers are stored for reuse.
    init(
        _ tape: JSONTape, coding: JSONCoding, userInfo: [CodingUserInfoKey: any Sendable] = [:],
        reusesContainers: Bool = JSONContainerCache.isKnownToWork
    ) {
        containers = reusesContainers ? JSONContainerCache() : nil
        self.tape = tape
        self.coding = coding
        self.userInfo = userInfo
        renamesKeys = coding.keys != .asWritten
        readsNonFinite = coding.nonFinite != .refused
        types = JSONTypes.current
    }

    /// Decodes the text as a type.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from tape: JSONTape, coding: JSONCoding, userInfo: [CodingUserInfoKey: any Sendable] = [:],
        reusesContainers: Bool = JSONContainerCache.isKnownToWork
    ) throws -> Value {
        let decoding = JSONDecoding(tape, coding: coding, userInfo: userInfo, reusesContainers: reusesContainers)
        defer {
            decoding.containers = nil
            JSONTypes.keep(decoding.types)
        }
        return try decoding.value(type, at: JSONTape.root, in: 0)
    }

    @inline(__always)
    func kind(at place: Place) -> JSONToken.Kind { tape.tokens[place].kind }

    // MARK: Members

    @inline(__always)
    func container<Key: CodingKey>(
        keyedBy type: Key.Type, of object: Place, keepsKeys: Bool
    ) -> KeyedDecodingContainer<Key> {
        let key = ObjectIdentifier(type)
        if let container = containers?.container(keyedBy: key, of: object, keepsKeys: keepsKeys) {
            return unsafeBitCast(container, to: KeyedDecodingContainer<Key>.self)
        }
        return newContainer(keyedBy: type, of: object, keepsKeys: keepsKeys)
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(
        keyedBy type: Key.Type, of object: Place, keepsKeys: Bool
    ) -> KeyedDecodingContainer<Key> {
        let members = JSONMembers(of: object, in: self, keepsKeys: keepsKeys)
        let container = KeyedDecodingContainer(JSONTapeKeyedContainer<Key>(members))
        containers?.keep(container, over: members)
        return container
    }

    /// The place of a member's value; ``JSONTape/missing`` if the object has no such member.
    @inline(__always)
    func member(_ key: some CodingKey, of object: Place, keepsKeys: Bool) -> Place {
        var name = key.stringValue
        guard renamesKeys, !keepsKeys else { return name.withUTF8 { tape.value(of: $0, in: object) } }
        var renamed = renamed(key)
        let place = renamed.withUTF8 { tape.value(of: $0, in: object) }
        // The type's own name is accepted too, as with Foundation's decoder.
        return place == JSONTape.missing ? name.withUTF8 { tape.value(of: $0, in: object) } : place
    }

    private func renamed(_ key: some CodingKey) -> String {
        let written = key.stringValue
        if let name = names[written] { return name }
        let name = coding.keys.naming.name(of: key)
        names[written] = name
        return name
    }

    /// The key of a type for a name in JSON; nil if the type has no such key.
    func key<Key: CodingKey>(named name: String, in object: Place, keepsKeys: Bool) -> Key? {
        guard renamesKeys, !keepsKeys else { return Key(stringValue: name) }
        let words = name.split(separator: "_")
        let candidates = [Self.capitalized, Self.capitalizedWithAcronyms].map { capitalized in
            words.prefix(1).joined() + words.dropFirst().map(capitalized).joined()
        }
        for candidate in candidates + [name] {
            if let key = Key(stringValue: candidate), renamed(key) == name { return key }
        }
        // A name in another style is the key itself, unless the object has a member with the JSON name of that key.
        guard let key = Key(stringValue: name) else { return nil }
        var other = renamed(key)
        return other.withUTF8 { tape.value(of: $0, in: object) } == JSONTape.missing ? key : nil
    }

    private static func capitalized(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    private static func capitalizedWithAcronyms(_ word: Substring) -> String {
        acronyms.contains(String(word)) ? word.uppercased() : capitalized(word)
    }

    /// The words that Swift names write in capitals.
    private static let acronyms: Set<String> = [
        "api", "css", "db", "dns", "gps", "html", "http", "https", "id", "ip", "isbn", "json", "jwt", "os", "pdf",
        "sdk", "sms", "sql", "ssh", "ssl", "tcp", "tls", "ttl", "udp", "ui", "uri", "url", "utc", "uuid", "vat", "xml",
    ]

    // MARK: Values

    /// A value of any type.
    func value<Value: Decodable>(_ type: Value.Type, at place: Place, in parent: Place) throws -> Value {
        try value(type, as: types.form(of: type), at: place, in: parent)
    }

    /// The form in which values of a type are read.
    func form<Value: Decodable>(of type: Value.Type) -> JSONTypes.Form { types.form(of: type) }

    /// A value with a known form.
    func value<Value: Decodable>(
        _ type: Value.Type, as form: JSONTypes.Form, at place: Place, in parent: Place
    ) throws -> Value {
        switch form {
        case .itself: return try type.init(from: JSONTapeDecoder(self, place, in: parent))
        case .namedByItself: return try type.init(from: JSONTapeDecoder(self, place, in: parent, keepsKeys: true))
        case .strings: return same(try elements(at: place, in: parent) { try string(at: $0, in: place) } as [String])
        case .integers:
            return same(try elements(at: place, in: parent) { try integer(Int.self, at: $0, in: place) } as [Int])
        case .doubles: return same(try elements(at: place, in: parent) { try double(at: $0, in: place) } as [Double])
        case .collection(let collection): return try read(collection, at: place, in: parent)
        case .string: return same(try string(at: place, in: parent))
        case .integer: return same(try integer(Int.self, at: place, in: parent))
        case .double: return same(try double(at: place, in: parent))
        case .bool: return same(try bool(at: place, in: parent))
        case .date: return same(try date(at: place, in: parent))
        case .data: return same(try data(at: place, in: parent))
        case .url: return same(try url(at: place, in: parent))
        case .decimal: return same(try decimal(at: place, in: parent))
        case .tree: return same(tape.value(at: place))
        }
    }

    /// The elements of an array.
    /// - Parameter read: Reads the element at a place.
    @inline(__always)
    func elements<Element>(at place: Place, in parent: Place, _ read: (Place) throws -> Element) throws -> [Element] {
        let header = tape.tokens[place]
        guard header.kind == .array else { throw mismatch([Any].self, at: place, in: parent) }
        var element = place + 1
        // A peer may send many short elements that are large in memory: beyond 1 MiB the array grows with each element.
        guard Int(header.elementCount) * MemoryLayout<Element>.stride <= 1 << 20 else {
            var list: [Element] = []
            while element < header.next {
                list.append(try read(element))
                element = tape.tokens.after(element)
            }
            return list
        }
        return try [Element](unsafeUninitializedCapacity: Int(header.elementCount)) { buffer, count in
            while element < header.next {
                (buffer.baseAddress! + count).initialize(to: try read(element))
                count += 1
                element = tape.tokens.after(element)
            }
        }
    }

    private func read<Value>(_ collection: any JSONDecodableCollection.Type, at place: Place, in parent: Place) throws
        -> Value
    {
        func read<Collection: JSONDecodableCollection>(_ collection: Collection.Type) throws -> Value {
            same(try collection.read(at: place, in: parent, of: self))
        }
        return try read(collection)
    }

    /// A value as its known type. A cast would look up both types.
    @inline(__always)
    private func same<Value, Known>(_ value: Known) -> Value {
        precondition(Value.self == Known.self)
        return unsafeBitCast(value, to: Value.self)
    }

    // MARK: Scalars

    @inline(__always)
    func bool(at place: Place, in parent: Place) throws -> Bool {
        switch kind(at: place) {
        case .yes: return true
        case .no: return false
        default: throw mismatch(Bool.self, at: place, in: parent)
        }
    }

    @inline(__always)
    func string(at place: Place, in parent: Place) throws -> String {
        guard kind(at: place) == .string else { throw mismatch(String.self, at: place, in: parent) }
        return tape.string(at: place)
    }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at place: Place, in parent: Place) throws -> Value {
        guard kind(at: place) == .number else { throw mismatch(type, at: place, in: parent) }
        guard let value = tape.integer(at: place, as: type) else {
            throw corrupted("the number does not fit \(type)", at: place, in: parent)
        }
        return value
    }

    @inline(__always)
    func double(at place: Place, in parent: Place) throws -> Double {
        guard kind(at: place) == .number else { return try nonFinite(Double.self, at: place, in: parent) }
        guard let value = tape.double(at: place) else {
            throw corrupted("the number is beyond the range of Double", at: place, in: parent)
        }
        return value
    }

    func float(at place: Place, in parent: Place) throws -> Float {
        guard kind(at: place) == .number else { return Float(try nonFinite(Float.self, at: place, in: parent)) }
        guard let value = tape.float(at: place) else {
            throw corrupted("the number is beyond the range of Float", at: place, in: parent)
        }
        return value
    }

    private func nonFinite(_ type: Any.Type, at place: Place, in parent: Place) throws -> Double {
        guard readsNonFinite, kind(at: place) == .string,
            let value = coding.nonFinite.number(from: tape.string(at: place))
        else { throw mismatch(type, at: place, in: parent) }
        return value
    }

    private func date(at place: Place, in parent: Place) throws -> Date {
        let kind = kind(at: place)
        guard kind != .null else { throw mismatch(Date.self, at: place, in: parent) }
        let value: Date? =
            switch kind {
            case .string: coding.dates.date(from: tape.string(at: place))
            case .number: tape.double(at: place).flatMap { $0.isFinite ? coding.dates.date(from: $0) : nil }
            default: nil
            }
        guard let value else { throw corrupted("it is no date in the expected form", at: place, in: parent) }
        return value
    }

    private func data(at place: Place, in parent: Place) throws -> Data {
        guard let value = coding.data.bytes(from: try string(at: place, in: parent)) else {
            throw corrupted("it is not Base64", at: place, in: parent)
        }
        return value
    }

    private func url(at place: Place, in parent: Place) throws -> URL {
        guard let value = URL(string: try string(at: place, in: parent)) else {
            throw corrupted("it is not a URL", at: place, in: parent)
        }
        return value
    }

    private func decimal(at place: Place, in parent: Place) throws -> Decimal {
        guard kind(at: place) == .number else { throw mismatch(Decimal.self, at: place, in: parent) }
        guard let value = Decimal(string: String(decoding: tape.literal(at: place), as: UTF8.self)) else {
            throw corrupted("the number does not fit Decimal", at: place, in: parent)
        }
        return value
    }
}

// MARK: Errors

extension JSONDecoding {
    func mismatch(_ type: Any.Type, at place: Place, in parent: Place) -> DecodingError {
        let kind = kind(at: place)
        let context = DecodingError.Context(
            codingPath: path(to: place, in: parent), debugDescription: "it is \(kind.description)")
        return kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func corrupted(_ description: String, at place: Place, in parent: Place) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: path(to: place, in: parent), debugDescription: description))
    }

    /// The path of a value. It is computed on demand, because the tape stores the parent of each array and object.
    func path(to place: Place, in parent: Place) -> [any CodingKey] {
        var keys: [any CodingKey] = []
        var (place, parent) = (place, parent)
        while parent != 0 {
            if kind(at: parent) == .array {
                keys.append(JSONKey(intValue: tape.number(of: place, in: parent)))
            } else if place != JSONTape.missing {
                // A superclass without a member of its own is decoded from the null outside the text.
                keys.append(JSONKey(tape.nameString(at: place - 1)))
            }
            place = parent
            parent = tape.tokens[place].parent
        }
        return keys.reversed()
    }

    func path(to container: Place) -> [any CodingKey] { path(to: container, in: tape.tokens[container].parent) }
}

extension JSONToken.Kind {
    fileprivate var description: String {
        switch self {
        case .null: "null"
        case .no, .yes: "a truth value"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
