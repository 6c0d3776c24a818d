/// The source from which a monitor learns of the network: the system, unless a test puts something else in its place.
struct NetworkSource: Sendable {
    var opening = NetlinkOpening()
    var interfaces = SystemInterfaces()
    var lookup = HostLookup()
    /// The loop to work on; nil is that of all monitors.
    var loop: CurlewEventLoop?
    var times = MonitorTimes()
}

/// The times that a monitor waits, in nanoseconds.
struct MonitorTimes: Sendable {
    /// The network is not asked about more often than this, however fast it changes.
    var spacing: Int64 = 5_000_000
    /// So long after the last change it is looked at once more, for kernels that report a change before they are done.
    var settling: Int64 = 100_000_000
    /// So long after a change a host is looked up again: whoever sets up a network writes its name servers last.
    var lookupDelay: Int64 = 250_000_000
    /// Between two look-ups, however fast the network changes.
    var lookupSpacing: Int64 = 1_000_000_000
    /// The longest wait for an answer.
    var lookupLimit: Int64 = 5_000_000_000
    /// The wait after a failure; it doubles with each one in a row.
    var failureWait: Int64 = 1_000_000_000
    /// The number of retries after a failure before the next change.
    var failureLimit = 5

    func wait(afterFailures failures: Int) -> Int64 { failureWait << Int64(min(max(failures, 1), 16) - 1) }
}

/// A monitor's two sockets: the one on which the kernel reports changes, and the one on which it is asked.
final class NetworkWatch: SocketHandler {
    let survey: NetworkSurvey
    private let socket: NetlinkSocket
    private weak var monitor: ReachabilityMonitor?

    /// So many messages are read before the loop continues with something else.
    private static let batchLimit = 128

    /// Begins to listen: from now on no change is missed.
    init(_ source: NetworkSource, monitor: ReachabilityMonitor, poller: Poller) throws {
        socket = try NetlinkSocket(source.opening)
        try socket.subscribe()
        survey = try NetworkSurvey(source.opening, interfaces: source.interfaces)
        self.monitor = monitor
        if let problem = poller.watch(socket.descriptor, for: Readiness.input, handler: self) { throw problem }
    }

    /// Stops listening. The sockets are closed with the last reference.
    func close(_ poller: Poller) { poller.forget(socket.descriptor) }

    /// What the messages say is not looked at, as the kernel is asked anew after each: so lost ones are no loss.
    func socketReady(_ descriptor: Int32, events: UInt32) {
        var hasChanged = false
        for _ in 0..<Self.batchLimit {
            switch socket.receive() {
            case .message, .lost: hasChanged = true
            case .foreign: break
            case .nothing: return notify(hasChanged)
            case .failed(let reason):
                let error = CurlewError(netlink: reason, "changes of the network cannot be read")
                monitor?.enter(error) { $0.networkFailed($1) }
                return
            }
        }
        notify(hasChanged)
    }

    private func notify(_ hasChanged: Bool) {
        if hasChanged { monitor?.enter(()) { monitor, _ in monitor.networkChanged() } }
    }
}

/// The loop of the monitors: one for all of them, and none while there is no monitor.
///
/// It is not the sessions' loop because the kernel may keep whoever asks about the network waiting while it changes, and
/// files under `/sys` are read there.
enum NetworkLoop {
    private struct Reference: Sendable {
        weak var loop: CurlewEventLoop?
    }

    private static let reference = Guarded(Reference())

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if it cannot be started.
    static func shared() throws -> CurlewEventLoop {
        try reference.withLock { reference in
            if let loop = reference.loop { return loop }
            let made = try CurlewEventLoop(name: "curlew-network")
            reference.loop = made
            return made
        }
    }
}
