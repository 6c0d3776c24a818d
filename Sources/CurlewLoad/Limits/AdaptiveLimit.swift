/// A limit on concurrent requests that adapts to the server. It is a pure value.
package struct AdaptiveLimit: Sendable {
    /// The outcome of a request, as the limit uses it.
    package struct Sample: Sendable {
        /// The time to the head of the response, in nanoseconds.
        package var latency: Int64
        /// True if the server is overloaded: 429, 503, 504, a timeout, no connection.
        package var isOverload: Bool

        package init(latency: Int64, isOverload: Bool) {
            self.latency = latency
            self.isOverload = isOverload
        }
    }

    private let kind: ConcurrencyLimiter.Limit.Kind
    private var value: Double
    private var longLatency = 0.0
    private var samples = 0
    private var lastDecrease: Int64 = .min

    package init(_ limit: ConcurrencyLimiter.Limit) {
        kind = limit.kind
        value = Double(limit.initial)
    }

    /// The present limit; at least 1.
    package var current: Int { max(1, Int(value)) }

    /// - Parameters:
    ///   - inFlight: The number of concurrent requests, including this one.
    ///   - now: The time in nanoseconds.
    package mutating func take(_ sample: Sample, inFlight: Int, now: Int64) {
        switch kind {
        case .fixed: break
        case .additive(let bounds): change(additively: sample, inFlight, bounds, now)
        case .gradient(let bounds): change(byGradient: sample, inFlight, bounds, now)
        }
    }

    /// Additive increase, multiplicative decrease: one more after as many good responses as the limit, a tenth less
    /// after an overload.
    private mutating func change(
        additively sample: Sample, _ inFlight: Int, _ bounds: ClosedRange<Int>, _ now: Int64
    ) {
        if sample.isOverload {
            decrease(to: 0.9, after: sample, now, within: bounds)
        } else if 2 * inFlight >= current {
            // The limit grows only if at least half of it is used.
            value = min(value + 1 / value, Double(bounds.upperBound))
        }
    }

    /// Changes the limit by the latency: it shrinks if responses take longer than the average of the last hundreds, and
    /// otherwise grows by its square root.
    private mutating func change(
        byGradient sample: Sample, _ inFlight: Int, _ bounds: ClosedRange<Int>, _ now: Int64
    ) {
        guard !sample.isOverload else { return decrease(to: 0.8, after: sample, now, within: bounds) }
        let latency = max(1, Double(sample.latency))
        samples += 1
        longLatency += (latency - longLatency) / Double(min(samples, 600))
        // After a long overload the long-term average is too high. This factor lets it recover sooner than the window
        // alone would.
        if longLatency > 2 * latency { longLatency *= 0.95 }
        guard 2 * inFlight >= current else { return }
        let gradient = max(0.5, min(1, 1.5 * longLatency / latency))
        let wanted = value * gradient + value.squareRoot()
        value = min(max(value * 0.8 + wanted * 0.2, Double(bounds.lowerBound)), Double(bounds.upperBound))
    }

    /// Shrinks the limit once for concurrent overloads: requests that began before the last decrease do not count
    /// against the smaller limit.
    private mutating func decrease(
        to part: Double, after sample: Sample, _ now: Int64, within bounds: ClosedRange<Int>
    ) {
        let (start, overflow) = now.subtractingReportingOverflow(sample.latency)
        guard lastDecrease == .min || (!overflow && start >= lastDecrease) else { return }
        lastDecrease = now
        value = max(value * part, Double(bounds.lowerBound))
    }
}
