internal import Glibc

extension JSONValue {
    /// The members of a JSON object in the order they came.
    ///
    /// Two objects are equal if they have equal members, in whatever order. Names are equal if their code points are
    /// (RFC 8259 §8.3): `é` as one code point and as `e` with an accent are two names, which to Swift are one string.
    public struct Object: Sendable, Hashable {
        /// The names in their order.
        public private(set) var keys: [String] = []
        private var members: [JSONName: JSONValue] = [:]

        /// An object without members.
        public init() {}

        /// The value of a member. Setting nil takes the member out; a new member comes last.
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

        /// Adds a member unless there is one of that name.
        /// - Returns: Whether it was added.
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

/// The name of a member, hashed and compared by its bytes. Swift does that by the normal form of a string, which takes time
/// that grows with the square of a run of combining marks: one name of 160 KB took seconds.
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
    /// Members in their order; of two with one name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}
