/// What was encoded at one place, while it may still grow.
final class EncodedNode {
    enum Kind { case nothing, single, list, table }

    /// What stands in a list or table.
    enum Member {
        case value(ParameterValue)
        case node(EncodedNode)

        func resolved() -> ParameterValue {
            switch self {
            case .value(let value): value
            case .node(let node): node.resolved()
            }
        }
    }

    private(set) var kind = Kind.nothing
    private var single = ParameterValue.null
    private var list: [Member] = []
    private var table = OrderedTable<Member>()

    /// Makes it that kind if it is nothing yet; false if it is another.
    func become(_ kind: Kind) -> Bool {
        if self.kind == .nothing { self.kind = kind }
        return self.kind == kind
    }

    var count: Int { list.count }

    func append(_ member: Member) { list.append(member) }

    func set(_ member: Member, for key: String) { table.set(member, for: key) }

    func set(_ value: ParameterValue) { single = value }

    /// The table that is there for the key, or the list.
    func node(for key: String) -> EncodedNode? {
        guard let position = table.position(of: key), case .node(let node) = table.values[position] else { return nil }
        return node
    }

    /// The tree. The encoder has kept it within ``ParameterValue/depthLimit``. What encoded nothing is an empty dictionary,
    /// as in Foundation's encoders.
    func resolved() -> ParameterValue {
        switch kind {
        case .single: single
        case .list: .array(list.map { $0.resolved() })
        case .nothing, .table: .dictionary(ParameterDictionary(table: table.mapValues { $0.resolved() }))
        }
    }
}
