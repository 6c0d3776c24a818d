/// Where a monitor learns of the network: the system, unless a test puts something else in its place.
struct NetworkSource: Sendable {
    var opening = NetlinkOpening()
    var interfaces = SystemInterfaces()
    var lookup = HostLookup()
    /// The loop to work on; nil is that of all monitors.
    var loop: EventLoop?
    var times = MonitorTimes()
}

/// How long a monitor waits for what, in nanoseconds.
struct MonitorTimes: Sendable {
    /// The network is not asked about more often than this, however fast it changes.
    var spacing: Int64 = 5_000_000
    /// So long after the last change it is looked at once more, for kernels that tell of a change before they are done.
    var settling: Int64 = 100_000_000
    /// So long after a change a host is looked up again: whoever sets up a network writes its name servers last.
    var lookupDelay: Int64 = 250_000_000
    /// Between two look-ups, however fast the network changes.
    var lookupSpacing: Int64 = 1_000_000_000
    /// How long an answer is waited for.
    var lookupLimit: Int64 = 5_000_000_000
    /// The wait after a failure; it doubles with each one in a row.
    var failureWait: Int64 = 1_000_000_000
    /// How often what failed is tried again before the next change.
    var failureLimit = 5

    func wait(afterFailures failures: Int) -> Int64 { failureWait << Int64(min(max(failures, 1), 16) - 1) }
}
