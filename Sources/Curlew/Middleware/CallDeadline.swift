/// What is left of ``RequestOptions/totalTimeout`` for the requests of a call that come after its first.
///
/// Each link that sends more than one request measures from when it was called. They may stand in each other: what the outer
/// passes on is what the inner one has in all.
struct CallDeadline {
    private let total: Duration?
    private let start: Duration
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - options: Those of the call.
    ///   - timekeeper: What measures.
    ///   - start: When the call began, by the timekeeper.
    init(_ options: RequestOptions, _ timekeeper: Timekeeper, start: Duration) {
        total = options.totalTimeout.flatMap { $0.isUnlimited ? nil : $0 }
        self.timekeeper = timekeeper
        self.start = start
    }

    /// The time that is left; nil without a limit.
    var remaining: Duration? { total.map { $0 - (timekeeper.elapsed() - start) } }

    /// Gives a request the time that is left.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if there is none.
    func limit(_ request: inout CurlewRequest) throws {
        guard let total, let remaining else { return }
        guard remaining > .zero else {
            let context = CurlewError.Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries)
            throw CurlewError(.totalTimeout, "not finished within \(total.text)", context: context)
        }
        request.options.totalTimeout = remaining
    }
}
