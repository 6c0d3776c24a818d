/// The rest of ``RequestOptions/totalTimeout`` for the requests of a call that follow its first one.
///
/// Each link that sends more than one request measures from the moment when it was called. Deadlines may be nested: the
/// time that an outer link passes on is the full limit of the inner link.
package struct CallDeadline {
    private let total: Duration?
    private let start: Duration
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - options: The options of the call.
    ///   - timekeeper: The clock that measures.
    ///   - start: The beginning of the call, by the timekeeper.
    package init(_ options: RequestOptions, _ timekeeper: Timekeeper, start: Duration) {
        total = options.totalTimeout.flatMap { $0.isUnlimited ? nil : $0 }
        self.timekeeper = timekeeper
        self.start = start
    }

    /// The remaining time; nil without a limit.
    package var remaining: Duration? { total.map { $0 - (timekeeper.elapsed() - start) } }

    /// Limits a request to the remaining time.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if no time remains.
    package func limit(_ request: inout CurlewRequest) throws {
        guard let total, let remaining else { return }
        guard remaining > .zero else {
            let context = CurlewError.Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries)
            throw CurlewError(.totalTimeout, "not finished within \(total.text)", context: context)
        }
        request.options.totalTimeout = remaining
    }
}
