/// A timer on a loop, for other modules. It is used only on its loop.
package final class LoopAlarm {
    private final class Timer: LoopTimer {
        let action: () -> Void

        init(_ action: @escaping () -> Void) { self.action = action }

        override func fire() { action() }
    }

    private let loop: CurlewEventLoop
    private let timer: Timer

    /// - Parameter action: A closure that is called on the loop each time the alarm fires.
    package init(on loop: CurlewEventLoop, _ action: @escaping () -> Void) {
        self.loop = loop
        timer = Timer(action)
    }

    /// Sets or moves the alarm.
    package func set(to moment: Instant) { loop.core.timers.set(timer, to: moment) }

    package func cancel() { loop.core.timers.remove(timer) }
}

extension CurlewEventLoop {
    /// Runs a closure on the loop, soon and in the order of the calls.
    package func execute(_ block: @escaping @Sendable () -> Void) { core.execute(block) }

    /// The time of the loop's last check: accurate enough for limits, and free. It is read on the loop.
    package var now: Instant { core.now }

    /// The loop's only object of a type, for code that runs on the loop.
    package func local<Object: AnyObject>(_ type: Object.Type, _ make: () -> Object) -> Object {
        core.checkIsolated()
        if let known = core.locals[ObjectIdentifier(type)] as? Object { return known }
        let made = make()
        core.locals[ObjectIdentifier(type)] = made
        return made
    }
}
