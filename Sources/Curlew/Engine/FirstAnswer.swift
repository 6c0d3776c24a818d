/// The wait for the first answer over a new HTTP/2 connection, which no other request can join before it has begun
/// (``Engine/joinsAfterFirstAnswer``).
struct FirstAnswerWatch {
    /// For so long requests wait to join a connection whose first answer is not there yet. Then they take another one.
    static let patience: Int64 = 500_000_000

    /// When the answer counts as slow.
    private(set) var deadline: Instant?
    private var isSlow = false

    /// True from the begin to the end.
    var isOn: Bool { deadline != nil || isSlow }

    mutating func begin(at now: Instant) {
        deadline = now.advanced(by: Self.patience)
        isSlow = false
    }

    /// There is nothing more to wait for: the answer is there, or the attempt has ended.
    mutating func end() { self = FirstAnswerWatch() }

    mutating func becomesSlow() {
        deadline = nil
        isSlow = true
    }
}
