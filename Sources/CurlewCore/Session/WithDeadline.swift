public import HTTPTypes

/// Sets a deadline for all calls that a closure makes.
///
/// ```swift
/// let page = try await withDeadline(.milliseconds(800), field: HTTPField.Name("X-Deadline-Ms")!) {
///     async let user = users.get("users/\(id)", as: User.self)
///     async let orders = shop.get("orders", query: ["user": id], as: [Order].self)
///     return try await Page(user, orders)
/// }
/// ```
///
/// - The ``RequestOptions/totalTimeout`` of a call is the remaining time, unless its own timeout is shorter. The
///   retries, redirects and waits of the call are included, and it ends with ``ErrorCode/totalTimeout``. A call without
///   remaining time fails with ``ErrorCode/deadlineExceeded``, and nothing is sent.
/// - The earliest of nested deadlines applies.
/// - Child tasks (`async let`, task groups) and `Task { }` inherit the deadline. `Task.detached { }` does not.
/// - The closure itself is not cancelled: its other work continues.
///
/// - Parameters:
///   - duration: The time from now.
///   - field: A request field that reports the remaining milliseconds to the server, computed for each attempt; nil
///     sends none. An inner call without a field keeps the outer one.
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
package struct CallScope: Sendable {
    @TaskLocal package static var current: CallScope?

    package let end: Instant
    package let field: HTTPField.Name?
    /// True if the total timeout of a request comes from the scope, not from the caller.
    package private(set) var setsTotal = false

    init(end: Instant, field: HTTPField.Name?) {
        self.end = end
        self.field = field
    }

    /// The remaining time; negative after the end.
    package var remaining: Duration { Instant.now.duration(to: end) }

    /// Runs a closure without the deadline of the task, for tasks that also work for other callers.
    package static func outside<Value>(_ body: () throws -> Value) rethrows -> Value {
        guard current != nil else { return try body() }
        return try $current.withValue(nil) { try body() }
    }

    /// Limits the time of a call to the remaining time.
    /// - Throws: ``CurlewError`` with ``ErrorCode/deadlineExceeded`` if no time is left.
    package func limit(_ request: inout CurlewRequest) throws {
        guard remaining > .zero else {
            throw CurlewError(.deadlineExceeded, "the deadline of the calls around it had passed").adding(request)
        }
        request.options.limit(to: self)
    }

    /// Limits the time of an attempt to the remaining time, and writes it into the field, unless the caller has set the
    /// field.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if no time is left.
    func prepareAttempt(_ request: inout CurlewRequest) throws {
        let remaining = remaining
        guard remaining > .zero else {
            throw CurlewError(.totalTimeout, "the deadline of the calls around it has passed").adding(request)
        }
        if request.options.totalTimeout.map({ $0 > remaining }) ?? true { request.options.totalTimeout = remaining }
        guard let field, !request.fields.contains(field) else { return }
        request.fields[field] = "\(remaining.nanosecondsClamped / 1_000_000)"
    }

    fileprivate func settingTotal(_ setsTotal: Bool) -> CallScope {
        var copy = self
        copy.setsTotal = setsTotal
        return copy
    }
}

extension RequestOptions {
    private enum DeadlineKey: Key {
        static let defaultValue: CallScope? = nil
        static let affectsResponse = false
    }

    /// The deadline that surrounds the request.
    package var deadline: CallScope? { self[DeadlineKey.self] }

    /// Applies a deadline: the total timeout is the remaining time, unless the caller's is shorter.
    package func limited(to scope: CallScope?) -> RequestOptions {
        guard let scope else { return self }
        var options = self
        options.limit(to: scope)
        return options
    }

    fileprivate mutating func limit(to scope: CallScope) {
        let remaining = max(scope.remaining, .nanoseconds(1))
        let isShorter = totalTimeout.map { $0 > remaining } ?? true
        if isShorter { totalTimeout = remaining }
        self[DeadlineKey.self] = scope.settingTotal(isShorter)
    }

    /// Removes a deadline and the total timeout that it set. Used for a request that is sent again later, or by a task
    /// that has no waiting caller.
    package mutating func dropDeadline() {
        guard let deadline else { return }
        if deadline.setsTotal { totalTimeout = nil }
        self[DeadlineKey.self] = nil
    }
}
