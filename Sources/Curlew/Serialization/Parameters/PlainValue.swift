/// Values that need no encoder, so that lists of numbers and strings are not encoded one object at a time.
enum PlainValue {
    /// The value, if its type is one of the common plain ones. Types are compared first because a cast costs much more.
    static func of<Value>(_ value: Value) -> ParameterValue? {
        if Value.self == String.self { return (value as? String).map { .string($0) } }
        if Value.self == Int.self { return (value as? Int).map { ParameterValue($0) } }
        if Value.self == Double.self { return (value as? Double).map { ParameterValue($0) } }
        if Value.self == Bool.self { return (value as? Bool).map { .boolean($0) } }
        if Value.self == ParameterValue.self { return value as? ParameterValue }
        return nil
    }
}
