/// The rate of the last few seconds, so that a bar is neither jumpy nor outdated.
struct RateMeter {
    private static let window = Duration.seconds(5)

    private var samples: [(time: ContinuousClock.Instant, count: Int64)] = []

    /// Records the number of bytes at a moment. A smaller number than the last one resets the meter.
    mutating func note(_ count: Int64, at time: ContinuousClock.Instant) {
        if let last = samples.last, count < last.count { samples = [] }
        samples.append((time, count))
        // The last sample before the window stays, so that the window is always filled.
        while samples.count > 2, samples[1].time + Self.window < time { samples.removeFirst() }
        // The number of samples is limited too: if it is exceeded, every other one is dropped.
        if samples.count > 512 { samples = samples.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element) }
    }

    /// Bytes per second; nil without enough samples.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        return Double(last.count - first.count) / (first.time.duration(to: last.time) / .seconds(1))
    }
}
