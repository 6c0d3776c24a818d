/// A kind of line: its allowed fields and its action.
///
/// A new kind is a file beside this one and a name in the table. An unknown name is answered with `skip`.
struct Operation: Sendable {
    /// The work outside the probe's actor; each call of the argument writes an answer.
    typealias Work = @Sendable (Answering) async throws -> Void

    let name: String
    let rules: [FieldRule]
    /// Starts the operation: lines take effect in order.
    let begin: @Sendable (Order, isolated Probe) throws -> Work

    private static let all: [Operation] = [.fetch, .events, .verify, .abort, .cookies, .clear]

    static func named(_ name: String) -> Operation? { all.first { $0.name == name } }
}

extension FieldRule {
    static let session = FieldRule("session") { field, order in order.session = try field.string() }
}
