internal import FoundationEssentials

/// Makes a tree of ``ParameterValue`` from anything `Encodable`.
///
/// - Keys keep the order in which they are encoded.
/// - Dates stay dates and data stays data, to be written by the style of the serializer. A `URL` becomes its text, a
///   `Decimal` a number with all its digits, a `Set` a set, a `ParameterValue` is taken as it is. An array of bytes is a list
///   of numbers, as everywhere in Swift.
/// - A value that encodes nothing is an empty dictionary; at the top it is an error. A key that is encoded twice has the
///   last value. Encoding twice into a single-value container, or asking for containers of two kinds, is an error.
/// - Values may lie in each other ``ParameterValue/depthLimit`` levels deep, and 256 `encode(to:)` may be under way in each
///   other, so that a cycle of objects is an error and not the end of the stack.
///
/// An encoder is a value without state: one may be used by many tasks at a time.
public struct ParameterEncoder: Sendable {
    /// The treatment of the types of FoundationEssentials that are structures of their own.
    package enum FoundationTypes: Sendable {
        /// URLs as text, decimals as numbers.
        case flattened
        /// As they encode themselves, which is what Foundation's property list decoder expects.
        case theirOwn
    }

    /// The style in which keys are named. ``ParameterEncoder/KeyNaming/asWritten`` by default.
    public var keyNaming = ParameterEncoder.KeyNaming.asWritten
    /// The `userInfo` of the encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    package var foundationTypes = FoundationTypes.flattened

    static let nestingLimit = 256

    public init() {}

    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``: it names the place, and has the error of the value's own
    ///   code beneath.
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

/// The state that the containers of one encoding share.
final class EncodingState {
    let keyNaming: ParameterEncoder.KeyNaming
    let userInfo: [CodingUserInfoKey: Any]
    let foundationTypes: ParameterEncoder.FoundationTypes
    /// The number of values that are being encoded, each inside the former.
    var nesting = 0
    /// A mistake of the value's own code. Some are made where nothing can be thrown, so each is kept until the end.
    private var mistake: Mistake?
    /// The path at which an error that is on its way out was thrown.
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

    /// Throws what was noted, in the form that `encode(to:)` expects of an encoder.
    func check() throws {
        guard let mistake else { return }
        let context = EncodingError.Context(codingPath: mistake.path.keys, debugDescription: mistake.description)
        throw EncodingError.invalidValue(mistake.description, context)
    }

    /// Remembers the innermost place that an error passed.
    func pass(_ path: CodingPath) {
        if let failurePath, failurePath.isInside(path) { return }
        failurePath = path
    }

    /// The error that callers see. It does not quote another's words: they may hold the value.
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

/// A value that was encoded at one place, while it may still grow.
final class EncodedNode {
    enum Kind { case nothing, single, list, table }

    /// The contents of a list or table.
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
        case .nothing, .table: .dictionary(ParameterValue.Object(table: table.mapValues { $0.resolved() }))
        }
    }
}

/// The place of an encoder: a list from the inside out, so that going in costs the same at every depth.
final class CodingPath {
    private let parent: CodingPath?
    private let key: (any CodingKey)?
    let depth: Int

    /// The top.
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

    /// The keys from the top on.
    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var place: CodingPath? = self
        while let current = place {
            if let key = current.key { keys.append(key) }
            place = current.parent
        }
        return keys.reversed()
    }

    /// True if the other one is here or further out.
    func isInside(_ other: CodingPath) -> Bool {
        var place: CodingPath? = self
        while let current = place, current.depth > other.depth { place = current.parent }
        return place === other
    }
}

/// The place in a list, as a key.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "\(index)" }
}

/// The key that `superEncoder()` goes by.
struct SuperKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "super" }
}

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
    static func number(_ decimal: Decimal) -> ParameterValue {
        .number(ParameterValue.Number(decimal: decimal.description) ?? ParameterValue.Number(Double.nan))
    }
}

/// Marks sets.
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
