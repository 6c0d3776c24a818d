internal import CurlewPlatform

/// The limits after which a connection accepts no further request, and the keep-alive probes of the system.
struct ConnectionHygiene: Equatable, Sendable {
    /// The greatest age in nanoseconds; the largest number is unlimited.
    private let maximumAge: Int64
    private let silenceTimeout: Int64
    /// The greatest number of requests; 0 is unlimited.
    let maximumUses: Int
    /// The interval of the probes in seconds; 0 disables them.
    let probeInterval: Int32
    /// True if one of the limits can be reached. Usually none can, and no other property is read.
    let isOn: Bool

    /// The number of unanswered probes after which the connection counts as dead.
    static let probeCount: Int32 = 3
    /// The longest probe interval that Linux accepts, in seconds.
    private static let longestProbeInterval = 32_767

    init(_ limits: ConnectionLimits) {
        maximumAge = limits.maximumAge?.limitInNanoseconds ?? .max
        silenceTimeout = limits.silenceTimeout?.limitInNanoseconds ?? .max
        maximumUses = max(0, limits.maximumUses)
        probeInterval = Int32(min(limits.keepAliveInterval?.secondsRoundedUp ?? 0, Self.longestProbeInterval))
        isOn = maximumAge < .max || silenceTimeout < .max || maximumUses > 0
    }

    /// True if a used connection may carry no further request.
    /// - Parameters:
    ///   - age: The time since its socket was opened, in nanoseconds.
    ///   - silence: The time since the last input, in nanoseconds.
    ///   - uses: The number of requests that were sent over it.
    func forbids(age: Int64, silence: Int64, uses: Int) -> Bool {
        age >= maximumAge || silence >= silenceTimeout || (maximumUses > 0 && uses >= maximumUses)
    }

    /// Makes the system probe the peer of a silent connection. A socket that rejects the options can still be used.
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
