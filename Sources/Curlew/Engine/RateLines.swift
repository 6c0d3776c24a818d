/// A limit for each direction.
struct RateLines: Sendable {
    enum Direction { case sending, receiving }

    private(set) var sending: RateLine?
    private(set) var receiving: RateLine?

    init(_ limit: RateLimit = .none, at now: Instant) { change(to: limit, at: now) }

    var isUnlimited: Bool { sending == nil && receiving == nil }

    subscript(direction: Direction) -> RateLine? {
        get { direction == .sending ? sending : receiving }
        set { if direction == .sending { sending = newValue } else { receiving = newValue } }
    }

    mutating func change(to limit: RateLimit, at now: Instant) {
        Self.change(&sending, to: limit.sending, at: now)
        Self.change(&receiving, to: limit.receiving, at: now)
    }

    private static func change(_ line: inout RateLine?, to limit: ByteCount?, at now: Instant) {
        guard let limit else { return line = nil }
        if line == nil { line = RateLine(limit, at: now) } else { line?.change(to: limit, at: now) }
    }

    /// - Returns: When so many bytes may pass; `now` if nothing limits them.
    mutating func reserve(_ count: Int, _ direction: Direction, at now: Instant) -> Instant {
        self[direction]?.reserve(count, at: now) ?? now
    }

    mutating func giveBack(_ count: Int, _ direction: Direction) { self[direction]?.giveBack(count) }
}

/// The limit that the tasks of a session share, on whichever loop they are.
final class SharedRate: Sendable {
    private struct State {
        var limit: RateLimit
        var lines: RateLines
    }

    private let state: Guarded<State>

    init(_ limit: RateLimit) { state = Guarded(State(limit: limit, lines: RateLines(limit, at: .now))) }

    var limit: RateLimit { state.withLock { $0.limit } }

    var isUnlimited: Bool { state.withLock { $0.lines.isUnlimited } }

    func change(to limit: RateLimit, at now: Instant = .now) {
        state.withLock { state in
            state.limit = limit
            state.lines.change(to: limit, at: now)
        }
    }

    func reserve(_ count: Int, _ direction: RateLines.Direction, at now: Instant) -> Instant {
        state.withLock { $0.lines.reserve(count, direction, at: now) }
    }

    func giveBack(_ count: Int, _ direction: RateLines.Direction) {
        state.withLock { $0.lines.giveBack(count, direction) }
    }

    /// How many bytes are asked for at a time.
    func step(_ direction: RateLines.Direction) -> Int {
        state.withLock { $0.lines[direction]?.step ?? .max }
    }
}
