internal import CurlewPlatform

/// The order and the pace of the attempts to connect to a host's addresses: Happy Eyeballs (RFC 8305 §4 and §5),
/// reduced.
///
/// The type is pure: it opens no socket and reads no clock. ``next(at:)`` returns the next step; the other functions
/// record events.
///
/// - The families alternate, beginning with the family of the resolver's first address.
/// - An attempt begins after an earlier one has failed, or ``delay`` after the previous start.
/// - At most ``limit`` attempts are open: one for a dead family, one for a dead host of the other family, and one that
///   works. A thousand simultaneous dials use three thousand descriptors at most.
/// - While other addresses wait, the oldest attempt is abandoned after its share of the time, at most ``patience``. By
///   then the system has sent three SYNs without an answer.
struct AddressRace {
    enum Step: Equatable {
        case begin(SocketAddress)
        /// Close an attempt. The race counts it as failed.
        case abandon(SocketAddress)
        /// Wait until this time, or until an attempt has ended.
        case wait(until: Instant)
        /// No attempt is open, and no address is left.
        case end
    }

    static let delay: Int64 = 200_000_000
    static let limit = 3
    static let patience: Int64 = 3_000_000_000

    private struct Attempt {
        let address: SocketAddress
        let start: Instant
    }

    /// The waiting addresses; the last one is tried next.
    private var waiting: [SocketAddress]
    /// The open attempts, the oldest first.
    private var open: [Attempt] = []
    private var earliestStart = Instant(nanoseconds: .min)
    private let share: Int64
    private var faults = AddressFaults()

    /// - Parameters:
    ///   - addresses: The addresses in the resolver's order. Repeated ones are removed.
    ///   - time: The time for all of them, in nanoseconds.
    init(_ addresses: [SocketAddress], within time: Int64) {
        waiting = Self.alternating(addresses).reversed()
        let fair = time / Int64(max(1, waiting.count))
        share = max(Int64(Self.limit) * Self.delay, min(Self.patience, fair))
    }

    /// The addresses with alternating families.
    static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var known: Set<SocketAddress> = []
        let distinct = addresses.filter { known.insert($0).inserted }
        var first = distinct.filter { $0.family == distinct.first?.family }[...]
        var second = distinct.filter { $0.family != distinct.first?.family }[...]
        var result: [SocketAddress] = []
        while !first.isEmpty || !second.isEmpty {
            if let address = first.popFirst() { result.append(address) }
            if let address = second.popFirst() { result.append(address) }
        }
        return result
    }

    var hasOpenAttempt: Bool { !open.isEmpty }

    /// The error of an ended race.
    var failure: DialFailure { faults.verdict }

    mutating func next(at now: Instant) -> Step {
        guard let address = waiting.last else { return open.isEmpty ? .end : .wait(until: .distantFuture) }
        guard open.isEmpty || now >= earliestStart else { return .wait(until: earliestStart) }
        if open.count >= Self.limit, let oldest = open.first {
            let end = oldest.start.advanced(by: share)
            guard now >= end else { return .wait(until: end) }
            noteFailure(of: oldest.address, ETIMEDOUT, at: now)
            return .abandon(oldest.address)
        }
        waiting.removeLast()
        return .begin(address)
    }

    mutating func noteStart(of address: SocketAddress, at now: Instant) {
        open.append(Attempt(address: address, start: now))
        earliestStart = now.advanced(by: Self.delay)
        faults.tried.append(address)
    }

    /// - Parameter systemError: The value of `errno`.
    mutating func noteFailure(of address: SocketAddress, _ systemError: Int32, at now: Instant) {
        noteClosing(of: address)
        earliestStart = now
        faults.note(systemError)
    }

    /// Records an address to which no socket may be made. The next address is tried at once.
    mutating func noteForbidden(_ address: SocketAddress) { faults.forbidden = address }

    /// Records that an attempt has reached a forbidden peer.
    mutating func noteForbidden(_ peer: SocketAddress, reachedBy address: SocketAddress, at now: Instant) {
        noteClosing(of: address)
        earliestStart = now
        faults.forbidden = peer
    }

    /// Records a closed attempt, without counting it as failed.
    mutating func noteClosing(of address: SocketAddress) { open.removeAll { $0.address == address } }

    /// Records that the local end does not match the address.
    mutating func noteUnusableInterface(_ words: String) { if faults.interface == nil { faults.interface = words } }

    /// Returns an address to the queue, because the system had no descriptor for it.
    mutating func putBack(_ address: SocketAddress, at now: Instant) {
        waiting.append(address)
        earliestStart = now.advanced(by: Self.delay)
    }
}

/// The faults of the addresses of a race, and the most informative of them.
///
/// A response of the host (such as `ECONNREFUSED`) has the highest weight, then timeouts and other errors, then
/// `EHOSTUNREACH` and `ENETDOWN`. Errors of a family that this machine lacks have the lowest weight: `ENETUNREACH`,
/// `EADDRNOTAVAIL`, `EAFNOSUPPORT`. Of equal weights the first error counts.
private struct AddressFaults {
    var tried: [SocketAddress] = []
    var forbidden: SocketAddress?
    var interface: String?
    private var mostTelling: Int32?

    mutating func note(_ systemError: Int32) {
        if mostTelling.map({ Self.weight(systemError) > Self.weight($0) }) ?? true { mostTelling = systemError }
    }

    private static func weight(_ systemError: Int32) -> Int {
        switch systemError {
        case ECONNREFUSED, ECONNRESET, EPIPE: 3
        case EHOSTUNREACH, EHOSTDOWN, ENETDOWN: 1
        case ENETUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT: 0
        default: 2
        }
    }

    var verdict: DialFailure {
        if let mostTelling { return .connect(mostTelling, tried: tried) }
        if let interface { return .interface(interface) }
        if let forbidden { return .forbidden(forbidden) }
        return .connect(EADDRNOTAVAIL, tried: [])
    }
}
