/// The origins to which no QUIC connection could be made. Requests that may use TCP then do so for some time.
///
/// The type is pure: it reads no clock. It holds at most ``limit`` origins; beyond it all are removed.
struct QUICFailures {
    static let limit = 1000
    /// The time after the first failure, in nanoseconds. Each further failure doubles it, up to two days.
    static let firstPause: Int64 = 300_000_000_000
    static let longestPause: Int64 = 172_800_000_000_000

    private struct Failure {
        var count = 0
        var end = Instant(nanoseconds: .min)
    }

    private var failures: [PoolKey: Failure] = [:]

    var isEmpty: Bool { failures.isEmpty }

    /// True if QUIC is not to be tried.
    func excludes(_ origin: PoolKey, at now: Instant) -> Bool { failures[origin].map { now < $0.end } ?? false }

    /// Records a failure. Failures during a pause count as one.
    mutating func noteFailure(of origin: PoolKey, at now: Instant) {
        var failure = failures[origin] ?? Failure()
        guard failure.end <= now else { return }
        if failures.count >= Self.limit, failure.count == 0 { failures = [:] }
        failure.count += 1
        let pause = min(Self.firstPause << Int64(min(failure.count - 1, 10)), Self.longestPause)
        failure.end = now.advanced(by: pause)
        failures[origin] = failure
    }

    mutating func noteSuccess(of origin: PoolKey) {
        if !failures.isEmpty { failures[origin] = nil }
    }
}
