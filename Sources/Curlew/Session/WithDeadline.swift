public import HTTPTypes

/// Gives all calls that a closure makes a deadline.
///
/// ```swift
/// let page = try await withDeadline(.milliseconds(800), field: HTTPField.Name("X-Deadline-Ms")!) {
///     async let user = users.get("users/\(id)", as: User.self)
///     async let orders = shop.get("orders", query: ["user": id], as: [Order].self)
///     return try await Page(user, orders)
/// }
/// ```
///
/// - A call has the time that is left as its ``RequestOptions/totalTimeout``, unless that is shorter. Its retries, redirects and waits fit
///   into it, and it ends with ``ErrorCode/totalTimeout``. With no time left a call is ``ErrorCode/deadlineExceeded``, and nothing is sent.
/// - Of nested deadlines the earlier holds.
/// - Child tasks (`async let`, task groups) and `Task { }` inherit the deadline. `Task.detached { }` does not.
/// - The closure itself is not ended: other work that it does goes on.
///
/// - Parameters:
///   - duration: The time from now.
///   - field: A request field that carries the milliseconds that are left to the server, made anew for each attempt; nil sends none. An
///     inner call without a field keeps the outer one.
///   - body: The closure.
/// - Returns: The value of the closure.
/// - Throws: The error of the closure.
public func withDeadline<Value>(
    _ duration: Duration, field: HTTPField.Name? = nil, _ body: () async throws -> Value
) async rethrows -> Value {
    let outer = CallScope.current
    let end = Instant.now.advanced(by: max(.zero, duration).nanosecondsClamped)
    let scope = CallScope(end: outer.map { min($0.end, end) } ?? end, field: field ?? outer?.field)
    return try await CallScope.$current.withValue(scope) { try await body() }
}

/// The deadline of the calls that a task makes.
struct CallScope: Sendable {
    @TaskLocal static var current: CallScope?

    let end: Instant
    let field: HTTPField.Name?

    private var remaining: Duration { Instant.now.duration(to: end) }

    /// Cuts the time of a call to what is left.
    /// - Throws: ``CurlewError`` with ``ErrorCode/deadlineExceeded`` if nothing is left.
    func limit(_ request: inout CurlewRequest) throws {
        let remaining = remaining
        guard remaining > .zero else {
            throw CurlewError(.deadlineExceeded, "the deadline of the calls around it had passed").adding(request)
        }
        if request.options.totalTimeout.map({ $0 > remaining }) ?? true { request.options.totalTimeout = remaining }
        if field != nil { request.options.deadline = self }
    }

    /// Writes the milliseconds that are left into the field of an attempt, unless the caller has set it.
    func announce(in request: inout CurlewRequest) {
        guard let field, !request.fields.contains(field) else { return }
        request.fields[field] = "\(max(0, remaining.nanosecondsClamped / 1_000_000))"
    }
}

extension RequestOptions {
    private enum DeadlineKey: Key {
        static let defaultValue: CallScope? = nil
        static let affectsResponse = false
    }

    /// The deadline that the field of an attempt is made of.
    var deadline: CallScope? {
        get { self[DeadlineKey.self] }
        set { self[DeadlineKey.self] = newValue }
    }
}
