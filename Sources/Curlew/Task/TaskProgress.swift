/// How far a task has got.
public struct TaskProgress: Sendable, Hashable {
    /// The bytes of a body in one direction.
    public struct Counts: Sendable, Hashable {
        /// As they went over the wire, after chunked coding and before content decoding.
        public internal(set) var wire: Int64 = 0
        /// As the caller gave or gets them. It differs from ``wire`` where a content coding is in use.
        public internal(set) var decoded: Int64 = 0
        /// How many ``wire`` bytes there will be, if that is known.
        public internal(set) var total: Int64?

        /// The part that is done, 0 to 1, if the total is known.
        public var fraction: Double? {
            total.map { $0 == 0 ? 1 : min(1, Double(wire) / Double($0)) }
        }
    }

    /// The body of the request.
    public internal(set) var sent = Counts()
    /// The body of the response.
    public internal(set) var received = Counts()
    /// Whether the task has ended, well or not. True in the last element and in no other.
    public internal(set) var isFinished = false
}
