internal import Curlew

extension TaskMetrics {
    /// The times of the last attempt, null for a step that it did not take; the bytes of all that its task made.
    /// - Parameter earlier: How often the request was sent by other tasks before this one.
    func answer(sentBefore earlier: Int) -> JSONValue {
        .object([
            .init("dns", Self.seconds(last?.nameLookup)),
            .init("connect", Self.seconds(last?.connect)),
            .init("tls", Self.seconds(last?.tls)),
            .init("first_byte", Self.seconds(last?.firstByte)),
            .init("total", Self.seconds(last?.total)),
            .init("sent", .integer(attempts.reduce(0) { $0 + $1.sentFieldBytes + $1.sentBodyBytes })),
            .init("received", .integer(attempts.reduce(0) { $0 + $1.receivedHeadBytes + $1.receivedBodyBytes })),
            .init("attempts", .integer(earlier + attempts.count)),
        ])
    }

    private static func seconds(_ duration: Duration?) -> JSONValue { duration.map(JSONValue.seconds) ?? .null }
}
