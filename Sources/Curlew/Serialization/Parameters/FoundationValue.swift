internal import FoundationEssentials

/// Values of Foundation and of the standard library that have a kind of their own among parameters.
enum FoundationValue {
    /// - Throws: What a member of a set throws.
    static func of<Value>(_ value: Value, state: EncodingState, path: CodingPath) throws -> ParameterValue? {
        if Value.self == Date.self { return (value as? Date).map { .date($0) } }
        if Value.self == Data.self { return (value as? Data).map { .data(Array($0)) } }
        if let set = value as? any EncodableSet { return .set(try set.encodedMembers(state, path)) }
        guard state.foundationTypes == .flattened else { return nil }
        if Value.self == URL.self { return (value as? URL).map { .string($0.absoluteString) } }
        if Value.self == Decimal.self { return (value as? Decimal).map(number) }
        return nil
    }

    /// All the digits; NaN, the only decimal that is not finite, stays NaN.
    private static func number(_ decimal: Decimal) -> ParameterValue {
        .number(ParameterNumber(decimal: decimal.description) ?? ParameterNumber(Double.nan))
    }
}

private protocol EncodableSet {
    func encodedMembers(_ state: EncodingState, _ path: CodingPath) throws -> Set<ParameterValue>
}

extension Set: EncodableSet where Element: Encodable {
    fileprivate func encodedMembers(_ state: EncodingState, _ path: CodingPath) throws -> Set<ParameterValue> {
        var members: Set<ParameterValue> = []
        for (index, member) in enumerated() {
            members.insert(try state.encode(member, at: path.appending(IndexKey(index))).resolved())
        }
        return members
    }
}
