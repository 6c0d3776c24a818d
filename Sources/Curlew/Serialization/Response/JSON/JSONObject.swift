/// The members of a JSON object in the order they came.
///
/// Two objects are equal if they have equal members, in whatever order. Names are compared as Swift compares strings.
public struct JSONObject: Sendable, Hashable {
    /// The names in their order.
    public private(set) var keys: [String] = []
    private var members: [String: JSONValue] = [:]

    /// An object without members.
    public init() {}

    /// The value of a member. Setting nil takes the member out; a new member comes last.
    public subscript(key: String) -> JSONValue? {
        get { members[key] }
        set {
            let old = members.updateValue(newValue ?? .null, forKey: key)
            if newValue == nil {
                members[key] = nil
                if old != nil { keys.removeAll { $0 == key } }
            } else if old == nil {
                keys.append(key)
            }
        }
    }

    /// Adds a member unless there is one of that name.
    /// - Returns: Whether it was added.
    mutating func insert(_ value: JSONValue, for key: String) -> Bool {
        guard members[key] == nil else { return false }
        members[key] = value
        keys.append(key)
        return true
    }

    public static func == (left: JSONObject, right: JSONObject) -> Bool { left.members == right.members }

    public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension JSONObject: RandomAccessCollection {
    public var startIndex: Int { keys.startIndex }
    public var endIndex: Int { keys.endIndex }

    public subscript(position: Int) -> (key: String, value: JSONValue) {
        let key = keys[position]
        return (key, members[key] ?? .null)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Members in their order; of two with one name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}
