/// The wait for the first answer over a new HTTP/2 connection, which no other request can join before it has begun
/// (``Engine/joinsAfterFirstAnswer``).
struct FirstAnswerWatch {
    /// For so long requests wait to join a connection whose first answer is not there yet. Then they take another one.
    static let patience: Int64 = 500_000_000

    /// When the answer counts as slow.
    private(set) var deadline: Instant?
    private var isSlow = false

    /// True if the end of the wait is of interest to anybody.
    var isOn: Bool { deadline != nil || isSlow }

    mutating func begin(at now: Instant) {
        deadline = now.advanced(by: Self.patience)
        isSlow = false
    }

    /// There is nothing more to wait for: the answer is there, or the attempt has ended.
    /// - Returns: Whether it was slow.
    mutating func end() -> Bool {
        defer { self = FirstAnswerWatch() }
        return isSlow
    }

    mutating func becomesSlow() {
        deadline = nil
        isSlow = true
    }
}

/// Authorities, each counted as often as it was inserted.
struct CountedAuthorities {
    private var counts: [String: Int] = [:]

    func contains(_ authority: @autoclosure () -> String) -> Bool { !counts.isEmpty && counts[authority()] != nil }

    mutating func insert(_ authority: String) { counts[authority, default: 0] += 1 }

    mutating func remove(_ authority: String) {
        guard let count = counts[authority] else { return }
        counts[authority] = count > 1 ? count - 1 : nil
    }
}
