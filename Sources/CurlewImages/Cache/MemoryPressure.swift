#if Images
internal import CLinux
internal import Dispatch
internal import Glibc

/// A sign of the kernel's that memory is short.
public struct MemoryPressure: Sendable {
    private let path: String
    private let trigger: String

    /// Memory pressure of the whole system (PSI, `/proc/pressure/memory`): tasks were stalled for at least `stall` within two seconds. Without PSI,
    /// or without the right to use it, no pressure is ever reported.
    /// - Parameter stall: The stall within two seconds, 150 ms by default; up to two seconds.
    public static func system(stall: Duration = .milliseconds(150)) -> MemoryPressure {
        MemoryPressure(path: "/proc/pressure/memory", stall: stall)
    }

    /// Memory pressure of a control group, such as a container's: `memory.pressure` of cgroup v2.
    /// - Parameters:
    ///   - group: The group's folder.
    ///   - stall: The stall within two seconds, 150 ms by default; up to two seconds.
    public static func group(_ group: String = "/sys/fs/cgroup", stall: Duration = .milliseconds(150)) -> MemoryPressure
    {
        MemoryPressure(path: group + "/memory.pressure", stall: stall)
    }

    init(path: String, stall: Duration) {
        self.path = path
        let (seconds, fraction) = min(.seconds(2), max(.microseconds(1), stall)).components
        // A window of two seconds is what processes without rights may ask for.
        trigger = "some \(seconds * 1_000_000 + fraction / 1_000_000_000_000) 2000000"
    }

    /// A watch that ends when nobody holds it.
    final class Watch: Sendable {
        // Dispatch's objects may be used by any thread, and do not say so.
        private nonisolated(unsafe) let source: any DispatchSourceRead

        init(_ source: any DispatchSourceRead) { self.source = source }

        deinit { source.cancel() }
    }

    /// Calls `notice` whenever the sign is seen; nil if it cannot be watched for.
    func watch(_ notice: @escaping @Sendable () -> Void) -> Watch? {
        let sign = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard sign >= 0 else { return nil }
        guard trigger.utf8CString.withUnsafeBytes({ write(sign, $0.baseAddress, $0.count) }) > 0 else {
            close(sign)
            return nil
        }
        return Self.watch(sign, notice)
    }

    /// Calls `notice` whenever a descriptor, which it closes in the end, has urgent input.
    static func watch(_ sign: Int32, _ notice: @escaping @Sendable () -> Void) -> Watch? {
        // Dispatch does not know of urgent input; a poller of our own that has some is readable.
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
            // Of a group that has gone an error comes, once and for all.
            // Dispatch's own poll uses up a sign of PSI: that it woke this is the sign.
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
