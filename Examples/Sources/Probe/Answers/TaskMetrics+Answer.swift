internal import Curlew

extension TaskMetrics {
    /// The times of the last attempt, null for a skipped step; the bytes of all attempts of the task.
    /// - Parameter earlier: The number of attempts by other tasks before this one.
    func answer(sentBefore earlier: Int) -> JSONValue { Self.answer(of: attempts, sentBefore: earlier) }

    /// The metrics of all tasks of one download, in order.
    static func answer(ofAll tasks: [TaskMetrics]) -> JSONValue { answer(of: tasks.flatMap(\.attempts), sentBefore: 0) }

    private static func answer(of attempts: [TaskMetrics.Attempt], sentBefore earlier: Int) -> JSONValue {
        let last = attempts.last
        return .object([
            .init("dns", seconds(last?.nameLookup)),
            .init("connect", seconds(last?.connect)),
            .init("tls", seconds(last?.tls)),
            .init("first_byte", seconds(last?.firstByte)),
            .init("total", seconds(last?.total)),
            .init("sent", .integer(attempts.reduce(0) { $0 + $1.sentFieldBytes + $1.sentBodyBytes })),
            .init("received", .integer(attempts.reduce(0) { $0 + $1.receivedHeadBytes + $1.receivedBodyBytes })),
            .init("attempts", .integer(earlier + attempts.count)),
        ])
    }

    private static func seconds(_ duration: Duration?) -> JSONValue { duration.map(JSONValue.seconds) ?? .null }
}
