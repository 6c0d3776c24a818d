@testable internal import CurlewCore
@testable internal import CurlewJSON

/// The pairs of a tree, found by simple recursion over texts.
enum PlainWalk {
    static func pairs(of tree: ParameterValue, _ style: RequestParameters.Style) -> [PlainPair] {
        guard case .dictionary(let dictionary) = tree else { return [] }
        return members(of: dictionary, style).flatMap { pairs($0.key, $0.value, style) }
    }

    private static func members(
        of dictionary: ParameterValue.Object, _ style: RequestParameters.Style
    ) -> [(key: String, value: ParameterValue)] {
        guard style.keyOrder == .sorted else { return Array(dictionary) }
        return dictionary.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    private static func pairs(_ name: String, _ value: ParameterValue, _ style: RequestParameters.Style) -> [PlainPair]
    {
        switch value {
        case .dictionary(let dictionary):
            return members(of: dictionary, style).flatMap { member in
                pairs(style.nesting == .dots ? "\(name).\(member.key)" : "\(name)[\(member.key)]", member.value, style)
            }
        case .set(let members): return members.inOrder().flatMap { pairs(name, $0, style) }
        case .array(let values):
            if style.arrays == .commas { return list(name, values, style) }
            return values.enumerated().flatMap { index, value in
                pairs(name + suffix(index, style), value, style)
            }
        case .null where style.nulls == .dropped: return []
        case .null: return [PlainPair(name: Array(name.utf8), value: style.nulls == .empty ? [] : nil)]
        default: return [PlainPair(name: Array(name.utf8), value: text(value, style))]
        }
    }

    private static func list(_ name: String, _ values: [ParameterValue], _ style: RequestParameters.Style)
        -> [PlainPair]
    {
        let kept = values.filter { style.nulls != .dropped || $0 != .null }
        guard !kept.isEmpty else { return [] }
        let joined = kept.map { text($0, style) ?? [] }.joined(separator: [UInt8(ascii: ",")])
        return [PlainPair(name: Array(name.utf8), value: Array(joined))]
    }

    private static func suffix(_ index: Int, _ style: RequestParameters.Style) -> String {
        switch style.arrays {
        case .brackets: "[]"
        case .indexed: "[\(index)]"
        default: ""
        }
    }

    private static func text(_ value: ParameterValue, _ style: RequestParameters.Style) -> [UInt8]? {
        (try? style.text(of: RequestParameters.Style.Pair("", value))).flatMap { $0.map { Array($0.utf8) } }
    }
}
