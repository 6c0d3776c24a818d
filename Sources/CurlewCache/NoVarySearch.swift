internal import HTTPTypes
internal import RawStructuredFieldValues

/// The rule about the parts of a query that do not affect the response (No-Vary-Search,
/// draft-ietf-httpbis-no-vary-search).
struct NoVarySearch: Sendable, Hashable {
    private var ignoresOrder = false
    private var ignored = Names.some([])

    private enum Names: Hashable {
        case some(Set<[UInt8]>)
        case allBut(Set<[UInt8]>)

        func contains(_ name: [UInt8]) -> Bool {
            switch self {
            case .some(let names): names.contains(name)
            case .allBut(let names): !names.contains(name)
            }
        }
    }

    /// nil without the field, and for a value that is unreadable or has no effect.
    init?(_ fields: HTTPFields) {
        guard fields.contains(.noVarySearch) else { return nil }
        let values = fields.filter { $0.name == .noVarySearch }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        var parser = StructuredFieldValueParser(Array(values.joined(separator: [.comma])))
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return nil }
        if let order = dictionary["key-order"] {
            guard case .item(let item) = order, case .bool(let ignores) = item.rfc9651BareItem else { return nil }
            ignoresOrder = ignores
        }
        var ignoresAll = false
        switch dictionary["params"] {
        case nil: break
        case .item(let item):
            guard case .bool(let all) = item.rfc9651BareItem else { return nil }
            ignoresAll = all
        case .innerList(let list):
            guard let names = Self.names(list) else { return nil }
            ignored = .some(names)
        }
        if ignoresAll { ignored = .allBut([]) }
        if let except = dictionary["except"] {
            guard ignoresAll, case .innerList(let list) = except, let names = Self.names(list) else { return nil }
            ignored = .allBut(names)
        }
        guard ignoresOrder || ignored != .some([]) else { return nil }
    }

    private static func names(_ list: InnerList) -> Set<[UInt8]>? {
        var names: Set<[UInt8]> = []
        for item in list.bareInnerList {
            guard case .string(let text) = item.rfc9651BareItem else { return nil }
            names.insert(Array(text.utf8))
        }
        return names
    }

    /// The key of responses with the field: the URI without its query.
    static func key(of uri: CurlewURI) -> String { "\(uri.origin)\(uri.path) no-vary-search" }

    /// True if an entry under the key without a query answers requests with a query.
    static func isFound(_ entry: HTTPCache.Entry, by query: String?) -> Bool {
        guard let rule = NoVarySearch(entry.head.headerFields), let uri = try? CurlewURI(entry.uri) else {
            return false
        }
        return rule.matches(query, uri.query)
    }

    /// True if both queries select the same response.
    func matches(_ one: String?, _ other: String?) -> Bool {
        if one.hasSameBytes(as: other) { return true }
        var left = parameters(one)
        var right = parameters(other)
        if ignoresOrder {
            // Values with the same name keep their order.
            left = Self.sorted(left)
            right = Self.sorted(right)
        }
        return left == right
    }

    /// A parameter of a query, as bytes: values that are not UTF-8 are distinguished too.
    private struct Parameter: Hashable {
        let name: [UInt8]
        let value: [UInt8]
    }

    private static func sorted(_ parameters: [Parameter]) -> [Parameter] {
        let places = parameters.indices.sorted { one, other in
            let (left, right) = (parameters[one].name, parameters[other].name)
            return left == right ? one < other : left.lexicographicallyPrecedes(right)
        }
        return places.map { parameters[$0] }
    }

    private func parameters(_ query: String?) -> [Parameter] {
        guard let query else { return [] }
        return query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Parameter(name: Self.decoded(parts[0]), value: parts.count > 1 ? Self.decoded(parts[1]) : [])
        }
        .filter { !ignored.contains($0.name) }
    }

    private static func decoded(_ text: Substring) -> [UInt8] {
        let spaced = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8.space : $0 }
        return PercentDecoding.bytes(of: spaced[...], isStrict: false) ?? []
    }
}
