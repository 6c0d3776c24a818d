/// A monitor's ear: the socket on which the kernel tells of changes, and the one on which it is asked.
final class NetworkWatch: SocketHandler {
    let survey: NetworkSurvey
    private let socket: NetlinkSocket
    private weak var monitor: ReachabilityMonitor?

    /// So many messages are read before the loop goes on with something else.
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
        var isNews = false
        for _ in 0..<Self.batchLimit {
            switch socket.receive() {
            case .message, .lost: isNews = true
            case .foreign: break
            case .nothing: return tell(isNews)
            case .failed(let reason):
                let error = CurlewError(netlink: reason, "changes of the network cannot be read")
                monitor?.enter(error) { $0.networkFailed($1) }
                return
            }
        }
        tell(isNews)
    }

    private func tell(_ isNews: Bool) {
        if isNews { monitor?.enter(()) { monitor, _ in monitor.networkChanged() } }
    }
}
