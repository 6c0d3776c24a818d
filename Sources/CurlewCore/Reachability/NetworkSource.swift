/// The source of a monitor's knowledge about the network: the system, or the substitutes of a test.
struct NetworkSource: Sendable {
    var opening = NetlinkOpening()
    var interfaces = SystemInterfaces()
    var lookup = HostLookup()
    /// The event loop of the monitor; nil means the shared one.
    var loop: CurlewEventLoop?
    var times = MonitorTimes()
}

/// The times of a monitor, in nanoseconds.
struct MonitorTimes: Sendable {
    /// The shortest time between two queries about the network.
    var spacing: Int64 = 5_000_000
    /// The time after the last change until a further query, for kernels that report a change before they have finished
    /// it.
    var settling: Int64 = 100_000_000
    /// The time after a change until a host is resolved again. Programs that configure a network write its name servers
    /// last.
    var lookupDelay: Int64 = 250_000_000
    /// The shortest time between two resolutions.
    var lookupSpacing: Int64 = 1_000_000_000
    /// The longest wait for a resolution.
    var lookupLimit: Int64 = 5_000_000_000
    /// The wait after a failure; each further failure doubles it.
    var failureWait: Int64 = 1_000_000_000
    /// The number of retries after a failure, until the next change.
    var failureLimit = 5

    func wait(afterFailures failures: Int) -> Int64 { failureWait << Int64(min(max(failures, 1), 16) - 1) }
}

/// The two sockets of a monitor: one for the kernel's reports of changes, one for queries.
final class NetworkWatch: SocketHandler {
    let survey: NetworkSurvey
    private let socket: NetlinkSocket
    private weak var monitor: ReachabilityMonitor?

    /// The most messages that are read before the loop handles other events.
    private static let batchLimit = 128

    /// Begins to listen. Later changes are not missed.
    init(_ source: NetworkSource, monitor: ReachabilityMonitor, poller: some Poller) throws {
        socket = try NetlinkSocket(source.opening)
        try socket.subscribe()
        survey = try NetworkSurvey(source.opening, interfaces: source.interfaces)
        self.monitor = monitor
        if let problem = poller.watch(socket.descriptor, for: Readiness.input, handler: self) { throw problem }
    }

    /// Stops listening. The sockets are closed when the last reference is released.
    func close(_ poller: some Poller) { poller.forget(socket.descriptor) }

    /// Reads the messages without their content, as each one causes a new query. Lost messages are therefore harmless.
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

/// The event loop that all monitors share. It exists only while a monitor exists.
///
/// It is separate from the sessions' loops, because a query may have to wait in the kernel while the network changes,
/// and because files in `/sys` are read on it.
enum NetworkLoop {
    private struct Reference: Sendable {
        weak var loop: CurlewEventLoop?
    }

    private static let reference = Guarded(Reference())

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if the loop cannot be started.
    static func shared() throws -> CurlewEventLoop {
        try reference.withLock { reference in
            if let loop = reference.loop { return loop }
            let made = try CurlewEventLoop(name: "curlew-network")
            reference.loop = made
            return made
        }
    }
}
