internal import Glibc

/// The limits after which a connection takes no new request, and the probes of the system's that keep it honest.
struct ConnectionHygiene: Equatable, Sendable {
    /// In nanoseconds; the largest number is none.
    private let maximumAge: Int64
    private let silence: Int64
    /// 0 is none.
    let maximumUses: Int
    /// In seconds; 0 is none.
    let probeInterval: Int32
    /// True if one of the limits can be reached. Almost always there is nothing else to look at.
    let isOn: Bool

    /// So many probes are sent before the connection is taken for dead.
    static let probeCount: Int32 = 3
    /// The most that Linux takes for one interval, in seconds.
    private static let longestProbeInterval = 32_767

    init(_ limits: ConnectionLimits) {
        maximumAge = limits.maximumAge?.limitInNanoseconds ?? .max
        silence = limits.silence?.limitInNanoseconds ?? .max
        maximumUses = max(0, limits.maximumUses)
        probeInterval = Int32(min(limits.keepAliveInterval?.secondsRoundedUp ?? 0, Self.longestProbeInterval))
        isOn = maximumAge < .max || silence < .max || maximumUses > 0
    }

    /// True if a connection that has been used may carry no other request.
    /// - Parameters:
    ///   - age: Since its socket was opened, in nanoseconds.
    ///   - silence: Since a byte came, in nanoseconds.
    ///   - uses: The requests that have gone over it.
    func forbids(age: Int64, silence: Int64, uses: Int) -> Bool {
        age >= maximumAge || silence >= self.silence || (maximumUses > 0 && uses >= maximumUses)
    }

    /// Has the system probe whether the peer of a silent connection is still there. A socket that does not take it can be
    /// used nevertheless.
    func setProbes(on descriptor: Int32, family: Int32) {
        guard probeInterval > 0, family == AF_INET || family == AF_INET6 else { return }
        func set(_ level: Int32, _ name: Int32, _ value: Int32) {
            var value = value
            setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        let tcp = Int32(IPPROTO_TCP)
        set(tcp, TCP_KEEPIDLE, probeInterval)
        set(tcp, TCP_KEEPINTVL, probeInterval)
        set(tcp, TCP_KEEPCNT, Self.probeCount)
    }
}
