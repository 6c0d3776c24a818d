internal import Glibc

/// The order and the pace in which the addresses of a host are tried: Happy Eyeballs (RFC 8305 §4 and §5), reduced.
///
/// Pure: it opens nothing and knows no clock. ``next(at:)`` says what to do, the other functions say what has happened.
///
/// - The families alternate, beginning with the family that the resolver put first.
/// - An attempt begins when one before it has failed, or ``delay`` after the one before it.
/// - At most ``limit`` attempts are open: one for a family that is dead, one for a host of the other family that is dead, one
///   that works. A thousand dials at a time take three thousand descriptors at worst.
/// - While other addresses wait, the oldest attempt gives its place up when it has had its share of the time, ``patience`` at
///   most. By then the system has sent three SYNs without an answer.
struct AddressRace {
    enum Step: Equatable {
        case begin(SocketAddress)
        /// An attempt has to be closed; the race counts it as failed.
        case abandon(SocketAddress)
        /// A pause until then, or until an attempt has ended.
        case wait(until: Instant)
        /// No attempt is open and no address is left.
        case end
    }

    static let delay: Int64 = 200_000_000
    static let limit = 3
    static let patience: Int64 = 3_000_000_000

    private struct Attempt {
        let address: SocketAddress
        let start: Instant
    }

    /// The last one is tried next.
    private var waiting: [SocketAddress]
    /// The oldest first.
    private var open: [Attempt] = []
    private var earliestStart = Instant(nanoseconds: .min)
    private let share: Int64
    private var faults = AddressFaults()

    /// - Parameters:
    ///   - addresses: In the resolver's order. Repeated ones are dropped.
    ///   - time: The time for all of them, in nanoseconds.
    init(_ addresses: [SocketAddress], within time: Int64) {
        waiting = Self.alternating(addresses).reversed()
        let fair = time / Int64(max(1, waiting.count))
        share = max(Int64(Self.limit) * Self.delay, min(Self.patience, fair))
    }

    /// The addresses with their families in turn.
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

    /// The error of a race that has ended.
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

    /// - Parameter systemError: `errno`.
    mutating func noteFailure(of address: SocketAddress, _ systemError: Int32, at now: Instant) {
        noteClosing(of: address)
        earliestStart = now
        faults.note(systemError)
    }

    /// No socket may be made for an address. The next one is tried at once.
    mutating func noteForbidden(_ address: SocketAddress) { faults.forbidden = address }

    /// An attempt has reached a peer that is forbidden.
    mutating func noteForbidden(_ peer: SocketAddress, reachedBy address: SocketAddress, at now: Instant) {
        noteClosing(of: address)
        earliestStart = now
        faults.forbidden = peer
    }

    /// An attempt was closed, and is not counted as failed.
    mutating func noteClosing(of address: SocketAddress) { open.removeAll { $0.address == address } }

    /// The local end does not fit the address.
    mutating func noteUnusableInterface(_ words: String) { if faults.interface == nil { faults.interface = words } }

    /// The system had no descriptor for the address, which is tried again later.
    mutating func putBack(_ address: SocketAddress, at now: Instant) {
        waiting.append(address)
        earliestStart = now.advanced(by: Self.delay)
    }
}

/// The faults of the addresses of one race, and the most telling of them.
///
/// An answer of the host (`ECONNREFUSED` and the like) tells most, then silence and other errors, then `EHOSTUNREACH` and
/// `ENETDOWN`, and last the errors of a family that this machine does not have: `ENETUNREACH`, `EADDRNOTAVAIL`, `EAFNOSUPPORT`.
/// The first of equals counts.
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
