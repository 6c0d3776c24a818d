/// The rule for one field of the protocol: its name, and its effect on an order.
///
/// A field that the library does not support yet has a rule too. When support is added, its rule is the only place to
/// change.
struct FieldRule: Sendable {
    let name: String
    /// True if null is a value of the field, not a word for its default.
    var takesNull = false
    let take: @Sendable (FieldValue, inout Order) throws -> Void

    init(_ name: String, takesNull: Bool = false, _ take: @escaping @Sendable (FieldValue, inout Order) throws -> Void)
    {
        self.name = name
        self.takesNull = takesNull
        self.take = take
    }
}

/// Rules for unsupported fields and values.
extension FieldRule {
    /// A field that is skipped with any value.
    static func unsupported(_ name: String) -> FieldRule {
        FieldRule(name) { field, _ in throw LineProblem.unsupported("field \(field.name)") }
    }

    /// A flag with one supported value, which is the library's default.
    static func flag(_ name: String, always supported: Bool) -> FieldRule {
        FieldRule(name) { field, _ in
            let flag = try field.flag()
            guard flag == supported else { throw LineProblem.unsupported("\(name) \(flag)") }
        }
    }

    /// A word with some supported values, which are the library's default.
    static func word(_ name: String, always supported: String...) -> FieldRule {
        FieldRule(name) { field, _ in
            let word = try field.string()
            guard supported.contains(word) else { throw LineProblem.unsupported("\(name) \(word)") }
        }
    }
}
