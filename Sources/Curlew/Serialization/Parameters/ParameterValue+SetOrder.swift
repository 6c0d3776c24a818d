extension Set<ParameterValue> {
    /// The members sorted by what they are described as, so that the same set is always written the same.
    func inOrder() -> [ParameterValue] { count > 1 ? ordered(depth: 0).map(\.member) : Array(self) }

    /// The members in that order, each with the same value without sets in it.
    fileprivate func ordered(depth: Int) -> [(member: ParameterValue, listed: ParameterValue)] {
        let members = map { (member: $0, listed: $0.withLists(depth: depth + 1)) }
        guard count > 1 else { return members }
        return members.map { (key: $0.listed.sortKey, rank: $0.member.rank, pair: $0) }
            .sorted { left, right in
                if left.key == right.key { return left.rank < right.rank }
                return left.key.lexicographicallyPrecedes(right.key)
            }
            .map(\.pair)
    }
}

extension ParameterValue {
    /// The value with sorted lists in place of the sets in it.
    ///
    /// Each is sorted once here. Left to the writer of the sort key, the sets within a set would be sorted for its key and
    /// again for their own, those within them four times, and so on.
    fileprivate func withLists(depth: Int) -> ParameterValue {
        // Nothing deeper can be written, and then its place does not matter.
        guard depth <= Self.depthLimit else { return .null }
        switch self {
        case .null, .boolean, .number, .string, .data, .date: return self
        case .array(let values): return .array(values.map { $0.withLists(depth: depth + 1) })
        case .dictionary(let dictionary):
            return .dictionary(
                ParameterDictionary(dictionary.lazy.map { ($0.key, $0.value.withLists(depth: depth + 1)) }))
        case .set(let members): return .array(members.ordered(depth: depth).map(\.listed))
        }
    }
}

extension ParameterValue {
    /// The bytes by which it is sorted among the members of a set.
    fileprivate var sortKey: [UInt8] {
        switch self {
        case .string(let text): return Array(text.utf8)
        case .number(let number): return Array(number.description.utf8)
        case .boolean(let value): return Array(value ? "1".utf8 : "0".utf8)
        case .data(let bytes): return bytes
        case .date(let date): return Array((try? CalendarDate(date).described.utf8) ?? "".utf8)
        case .null, .array, .dictionary, .set:
            var style = JSONStyle()
            style.options = [.sortedKeys, .fragmentsAllowed]
            style.nonFinite = .text()
            // What cannot be written now cannot be written later either, and then its place does not matter.
            return (try? json(style: style)) ?? []
        }
    }

    /// Tells apart members of different kinds that are described the same: the number 1 and the text "1".
    fileprivate var rank: Int {
        switch self {
        case .null: 0
        case .boolean: 1
        case .number(let number): number.rank
        case .string: 7
        case .data: 8
        case .date: 9
        case .array: 10
        case .dictionary: 11
        case .set: 12
        }
    }
}

extension ParameterNumber {
    fileprivate var rank: Int {
        switch kind {
        case .integer: 2
        case .unsigned: 3
        case .double: 4
        case .float: 5
        case .decimal: 6
        }
    }
}
