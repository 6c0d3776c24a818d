extension ParameterValue: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .null }
}

extension ParameterValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension ParameterValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .number(ParameterNumber(value)) }
}

extension ParameterValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) { self = .number(ParameterNumber(value)) }
}

extension ParameterValue: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension ParameterValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }
}

extension ParameterValue: ExpressibleByDictionaryLiteral {
    /// Of a key that comes twice the last value counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .dictionary(ParameterDictionary(elements))
    }
}
