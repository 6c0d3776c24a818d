/// A kind of line: the fields that it may have, and what it does.
///
/// A new kind is a file beside this one and a name in the table. A name that is not there is answered with `skip`.
struct Operation: Sendable {
    /// What is done off the probe's actor; each call of the argument writes an answer.
    typealias Work = @Sendable (Answering) async throws -> Void

    let name: String
    let rules: [FieldRule]
    /// Begins the operation: lines take effect in the order in which they came.
    let begin: @Sendable (Order, isolated Probe) throws -> Work

    private static let all: [Operation] = [
        .fetch, .events, .webSocket, .webSocketSend, .verify, .abort, .cookies, .clear,
    ]

    static func named(_ name: String) -> Operation? { all.first { $0.name == name } }
}

extension FieldRule {
    static let session = FieldRule("session") { field, order in order.session = try field.string() }
}
