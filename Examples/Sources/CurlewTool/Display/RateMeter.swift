/// How fast bytes came lately: over the last few seconds, so that a bar neither jumps nor clings to what was long ago.
struct RateMeter {
    private static let window = Duration.seconds(5)

    private var samples: [(time: ContinuousClock.Instant, count: Int64)] = []

    /// Notes how many bytes there were at a moment. A count that is smaller than the last begins anew.
    mutating func note(_ count: Int64, at time: ContinuousClock.Instant) {
        if let last = samples.last, count < last.count { samples = [] }
        samples.append((time, count))
        // The last sample before the window stays, so that the window is always filled.
        while samples.count > 2, samples[1].time + Self.window < time { samples.removeFirst() }
        // Bounded also for who notes without end within the window: every other one says as much.
        if samples.count > 512 { samples = samples.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element) }
    }

    /// Bytes a second; nil as long as there is no telling.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        return Double(last.count - first.count) / (first.time.duration(to: last.time) / .seconds(1))
    }
}
