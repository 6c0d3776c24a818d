internal import CurlewPlatform

extension JSONValue {
    /// The members of a JSON object in their original order.
    ///
    /// Two objects are equal if they have equal members, in any order. Names are equal if their code points are equal
    /// (RFC 8259 §8.3): `é` as one code point and as `e` with a combining accent are two names, but equal Swift
    /// strings.
    public struct Object: Sendable, Hashable {
        /// The names in order.
        public private(set) var keys: [String] = []
        private var members: [JSONName: JSONValue] = [:]

        /// Creates an object without members.
        public init() {}

        /// The value of a member. Setting nil removes the member; a new member is appended.
        public subscript(key: String) -> JSONValue? {
            get { members[JSONName(key)] }
            set {
                let name = JSONName(key)
                let old = members.updateValue(newValue ?? .null, forKey: name)
                if newValue == nil {
                    members[name] = nil
                    if old != nil { keys.removeAll { JSONName($0) == name } }
                } else if old == nil {
                    keys.append(key)
                }
            }
        }

        /// Adds a member, unless the object has a member of that name.
        /// - Returns: True if the member was added.
        mutating func insert(_ value: JSONValue, for key: String) -> Bool {
            let name = JSONName(key)
            guard members[name] == nil else { return false }
            members[name] = value
            keys.append(key)
            return true
        }

        public static func == (left: JSONValue.Object, right: JSONValue.Object) -> Bool {
            left.members == right.members
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(members) }
    }
}

extension JSONValue.Object: RandomAccessCollection {
    public var startIndex: Int { keys.startIndex }
    public var endIndex: Int { keys.endIndex }

    public subscript(position: Int) -> (key: String, value: JSONValue) {
        let key = keys[position]
        return (key, members[JSONName(key)] ?? .null)
    }
}

/// The name of a member, which is hashed and compared by its bytes.
///
/// Swift hashes and compares the normal form of a string. The time for it grows with the square of the length of a run
/// of combining marks: a name of 160 KB took seconds.
private struct JSONName: Hashable, Sendable {
    private let text: String

    init(_ text: String) { self.text = text }

    static func == (left: JSONName, right: JSONName) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count else { return false }
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return memcmp(first, second, left.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension JSONValue.Object: ExpressibleByDictionaryLiteral {
    /// Creates an object with the members in order; of members with the same name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}
