/// What the probe knows about one field of the protocol: its name, and how it goes into an order.
///
/// A field that the library does not support yet has a rule too. When support comes, its rule is the one place to change.
struct FieldRule: Sendable {
    let name: String
    /// Whether null is a value of the field, not a word for its default.
    var takesNull = false
    let take: @Sendable (FieldValue, inout Order) throws -> Void

    init(_ name: String, takesNull: Bool = false, _ take: @escaping @Sendable (FieldValue, inout Order) throws -> Void)
    {
        self.name = name
        self.takesNull = takesNull
        self.take = take
    }
}

/// Rules for what is not there yet.
extension FieldRule {
    /// A field that is skipped whatever it says.
    static func unsupported(_ name: String) -> FieldRule {
        FieldRule(name) { field, _ in throw LineProblem.unsupported("field \(field.name)") }
    }

    /// A flag of which the library can do one side, and does so unasked.
    static func flag(_ name: String, always supported: Bool) -> FieldRule {
        FieldRule(name) { field, _ in
            let flag = try field.flag()
            guard flag == supported else { throw LineProblem.unsupported("\(name) \(flag)") }
        }
    }

    /// A word of which the library can do some, and does so unasked.
    static func word(_ name: String, always supported: String...) -> FieldRule {
        FieldRule(name) { field, _ in
            let word = try field.string()
            guard supported.contains(word) else { throw LineProblem.unsupported("\(name) \(word)") }
        }
    }
}
