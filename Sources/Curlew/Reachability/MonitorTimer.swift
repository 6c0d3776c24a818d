/// A timer of a monitor's, on its loop.
final class MonitorTimer: LoopTimer {
    private weak var monitor: ReachabilityMonitor?
    private let action: (isolated ReachabilityMonitor) -> Void

    init(_ monitor: ReachabilityMonitor, _ action: @escaping (isolated ReachabilityMonitor) -> Void) {
        self.monitor = monitor
        self.action = action
    }

    var isSet: Bool { deadline < .distantFuture }

    override func fire() { monitor?.enter(action) { $1($0) } }
}
