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
    /// How the types of FoundationEssentials that are structures of their own are encoded.
    enum FoundationTypes: Sendable {
        /// URLs as text, decimals as numbers.
        case flattened
        /// As they encode themselves, which is what Foundation's property list decoder expects.
        case theirOwn
    }

    /// How keys are named. ``KeyNaming/asWritten`` by default.
    public var keyNaming = KeyNaming.asWritten
    /// What values find in their encoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    var foundationTypes = FoundationTypes.flattened

    static let nestingLimit = 256

    public init() {}

    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``: it names the place, and has the error of the value's own
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
            throw state.curlewError(for: error)
        }
    }
}
