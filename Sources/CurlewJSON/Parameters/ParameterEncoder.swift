internal import FoundationEssentials

/// Encodes `Encodable` values as trees of ``ParameterValue``.
///
/// - Keys keep the order in which they are encoded.
/// - Dates stay dates and data stays data; the serializer's style writes them. A `URL` becomes its text, a `Decimal` a
///   number with all its digits, a `Set` a set, and a `ParameterValue` stays unchanged. An array of bytes is a list of
///   numbers, as everywhere in Swift.
/// - A value that encodes nothing becomes an empty dictionary; at the top it is an error. If a key is encoded twice,
///   the last value counts. Encoding twice into a single-value container, or requesting containers of two kinds, is an
///   error.
/// - Values may be nested ``ParameterValue/depthLimit`` levels deep, and calls of `encode(to:)` 256 levels deep. So a
///   cycle of objects is an error instead of a stack overflow.
///
/// An encoder is a value without state: many tasks may use the same one concurrently.
public struct ParameterEncoder: Sendable {
    /// The treatment of FoundationEssentials types that encode themselves as structures.
    package enum FoundationTypes: Sendable {
        /// URLs as text, decimals as numbers.
        case flattened
        /// Their own encoding, which Foundation's property list decoder expects.
        case theirOwn
    }

    /// The style of keys. ``ParameterEncoder/KeyNaming/asWritten`` by default.
    public var keyNaming = ParameterEncoder.KeyNaming.asWritten
    /// The `userInfo` of the encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    package var foundationTypes = FoundationTypes.flattened

    static let nestingLimit = 256

    public init() {}

    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``: it contains the position, and
    ///   the error of the value's own code is the underlying error.
    public func encode(_ value: some Encodable) throws -> ParameterValue {
        let state = EncodingState(self)
        do {
            let member = try state.encode(value, at: CodingPath())
            if case .node(let node) = member, node.kind == .nothing {
                state.note("encoded nothing", at: CodingPath())
            }
            try state.check()
            return member.resolved()
        } catch {
            throw state.failure(for: error)
        }
    }
}

/// The shared state of the containers of one encoding.
final class EncodingState {
    let keyNaming: ParameterEncoder.KeyNaming
    let userInfo: [CodingUserInfoKey: Any]
    let foundationTypes: ParameterEncoder.FoundationTypes
    /// The number of nested values that are being encoded.
    var nesting = 0
    /// A mistake in the value's own code. Some occur in functions that cannot throw, so the first is stored until the
    /// end.
    private var mistake: Mistake?
    /// The path where a propagating error was thrown.
    private var failurePath: CodingPath?

    private struct Mistake {
        let description: String
        let path: CodingPath
    }

    init(_ encoder: ParameterEncoder) {
        keyNaming = encoder.keyNaming
        userInfo = encoder.userInfo
        foundationTypes = encoder.foundationTypes
    }

    func note(_ description: String, at path: CodingPath) {
        if mistake == nil { mistake = Mistake(description: description, path: path) }
    }

    /// Throws the recorded mistake, in the form that `encode(to:)` expects of an encoder.
    func check() throws {
        guard let mistake else { return }
        let context = EncodingError.Context(codingPath: mistake.path.keys, debugDescription: mistake.description)
        throw EncodingError.invalidValue(mistake.description, context)
    }

    /// Records the innermost position of a propagating error.
    func pass(_ path: CodingPath) {
        if let failurePath, failurePath.isInside(path) { return }
        failurePath = path
    }

    /// The error for callers. It does not quote the text of other errors, which may contain the value.
    func failure(for error: any Error) -> JSONCoding.Failure {
        let keys: [any CodingKey]
        if let mistake {
            keys = mistake.path.keys
        } else if case .invalidValue(_, let context) = error as? EncodingError {
            keys = context.codingPath
        } else {
            keys = failurePath?.keys ?? []
        }
        let path = ParameterFailure.path(keys.map { $0 is IndexKey ? .index($0.intValue ?? 0) : .key($0.stringValue) })
        let reason = mistake?.description ?? "threw an error while it was encoded"
        return JSONCoding.Failure(writing: reason, at: path, underlying: error)
    }
}

/// An encoded value at one position, which may still grow.
final class EncodedNode {
    enum Kind { case nothing, single, list, table }

    /// A member of a list or table.
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

    /// Sets the kind of a node that has none; false if it already has another.
    func become(_ kind: Kind) -> Bool {
        if self.kind == .nothing { self.kind = kind }
        return self.kind == kind
    }

    var count: Int { list.count }

    func append(_ member: Member) { list.append(member) }

    func set(_ member: Member, for key: String) { table.set(member, for: key) }

    func set(_ value: ParameterValue) { single = value }

    /// The existing table or list for the key.
    func node(for key: String) -> EncodedNode? {
        guard let position = table.position(of: key), case .node(let node) = table.values[position] else { return nil }
        return node
    }

    /// The tree. The encoder has limited it to ``ParameterValue/depthLimit``. A value that encoded nothing is an empty
    /// dictionary, as in Foundation's encoders.
    func resolved() -> ParameterValue {
        switch kind {
        case .single: single
        case .list: .array(list.map { $0.resolved() })
        case .nothing, .table: .dictionary(ParameterValue.Object(table: table.mapValues { $0.resolved() }))
        }
    }
}

/// The position of an encoder: a list from the inside out, so that each level costs the same.
final class CodingPath {
    private let parent: CodingPath?
    private let key: (any CodingKey)?
    let depth: Int

    /// Creates the path of the top.
    init() {
        parent = nil
        key = nil
        depth = 0
    }

    private init(parent: CodingPath, key: any CodingKey) {
        self.parent = parent
        self.key = key
        depth = parent.depth + 1
    }

    func appending(_ key: any CodingKey) -> CodingPath { CodingPath(parent: self, key: key) }

    /// The keys, from the top.
    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var place: CodingPath? = self
        while let current = place {
            if let key = current.key { keys.append(key) }
            place = current.parent
        }
        return keys.reversed()
    }

    /// True if the other path is this one or encloses it.
    func isInside(_ other: CodingPath) -> Bool {
        var place: CodingPath? = self
        while let current = place, current.depth > other.depth { place = current.parent }
        return place === other
    }
}

/// The index in a list, as a key.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "\(index)" }
}

/// The key of `superEncoder()`.
struct SuperKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "super" }
}

/// Values of Foundation and of the standard library that have their own kind of parameter.
enum FoundationValue {
    /// - Throws: The error of a set's member.
    static func of<Value>(_ value: Value, state: EncodingState, path: CodingPath) throws -> ParameterValue? {
        if Value.self == Date.self { return (value as? Date).map { .date($0) } }
        if Value.self == Data.self { return (value as? Data).map { .data(Array($0)) } }
        if let set = value as? any EncodableSet { return .set(try set.encodedMembers(state, path)) }
        guard state.foundationTypes == .flattened else { return nil }
        if Value.self == URL.self { return (value as? URL).map { .string($0.absoluteString) } }
        if Value.self == Decimal.self { return (value as? Decimal).map(number) }
        return nil
    }

    /// The number with all its digits; NaN, the only decimal that is not finite, stays NaN.
    static func number(_ decimal: Decimal) -> ParameterValue {
        .number(ParameterValue.Number(decimal: decimal.description) ?? ParameterValue.Number(Double.nan))
    }
}

/// Identifies sets.
protocol EncodableSet {
    func encodedMembers(_ state: EncodingState, _ path: CodingPath) throws -> Set<ParameterValue>
}

extension Set: EncodableSet where Element: Encodable {
    func encodedMembers(_ state: EncodingState, _ path: CodingPath) throws -> Set<ParameterValue> {
        var members: Set<ParameterValue> = []
        for (index, member) in enumerated() {
            members.insert(try state.encode(member, at: path.appending(IndexKey(index))).resolved())
        }
        return members
    }
}
