#if Images
internal import CLinux
internal import Dispatch
internal import CurlewPlatform

/// A source of the kernel's memory-pressure notifications.
public struct MemoryPressure: Sendable {
    private let path: String
    private let trigger: String

    /// Memory pressure of the system (PSI, `/proc/pressure/memory`): tasks were stalled for at least `stall` within two
    /// seconds. Without PSI, or without permission to use it, no pressure is ever reported.
    /// - Parameter stall: The stall within two seconds, 150 ms by default; at most two seconds.
    public static func system(stall: Duration = .milliseconds(150)) -> MemoryPressure {
        MemoryPressure(path: "/proc/pressure/memory", stall: stall)
    }

    /// Memory pressure of a control group, such as a container's: `memory.pressure` of cgroup v2.
    /// - Parameters:
    ///   - group: The group's folder.
    ///   - stall: The stall within two seconds, 150 ms by default; at most two seconds.
    public static func group(_ group: String = "/sys/fs/cgroup", stall: Duration = .milliseconds(150)) -> MemoryPressure
    {
        MemoryPressure(path: group + "/memory.pressure", stall: stall)
    }

    init(path: String, stall: Duration) {
        self.path = path
        let (seconds, fraction) = min(.seconds(2), max(.microseconds(1), stall)).components
        // Unprivileged processes may only request windows of two seconds.
        trigger = "some \(seconds * 1_000_000 + fraction / 1_000_000_000_000) 2000000"
    }

    /// A watch that ends when its last reference is released.
    final class Watch: Sendable {
        // Dispatch's objects are thread-safe, but not declared as Sendable.
        private nonisolated(unsafe) let source: any DispatchSourceRead

        init(_ source: any DispatchSourceRead) { self.source = source }

        deinit { source.cancel() }
    }

    /// Calls `notice` at each notification; nil if notifications are unavailable.
    func watch(_ notice: @escaping @Sendable () -> Void) -> Watch? {
        let sign = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard sign >= 0 else { return nil }
        guard trigger.utf8CString.withUnsafeBytes({ write(sign, $0.baseAddress, $0.count) }) > 0 else {
            close(sign)
            return nil
        }
        return Self.watch(sign, notice)
    }

    /// Calls `notice` whenever a descriptor has urgent input. The watch closes the descriptor at its end.
    static func watch(_ sign: Int32, _ notice: @escaping @Sendable () -> Void) -> Watch? {
        // Dispatch cannot watch for urgent input; a separate epoll descriptor becomes readable on it.
        let poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        let events = UInt32(truncatingIfNeeded: curlew_epoll_urgent | curlew_epoll_edge)
        guard poller >= 0, curlew_epoll_control(poller, EPOLL_CTL_ADD, sign, events, 0) == 0 else {
            if poller >= 0 { close(poller) }
            close(sign)
            return nil
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: poller, queue: .global())
        source.setEventHandler {
            var event = epoll_event()
            // A removed group reports an error once and for all.
            // Dispatch's own poll consumes a notification of PSI, so the wake-up itself is the notification.
            if epoll_wait(poller, &event, 1, 0) == 1, event.events & UInt32(curlew_epoll_error) != 0 { return }
            notice()
        }
        source.setCancelHandler {
            close(poller)
            close(sign)
        }
        source.activate()
        return Watch(source)
    }
}
#endif
