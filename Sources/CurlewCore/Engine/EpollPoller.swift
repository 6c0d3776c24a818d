internal import CLinux
internal import CurlewPlatform

/// The events of a socket, in the bits of epoll.
enum Readiness {
    static let input = UInt32(curlew_epoll_in)
    static let output = UInt32(curlew_epoll_out)
    static let error = UInt32(curlew_epoll_error)
    static let hangUp = UInt32(curlew_epoll_hang_up)
}

/// The epoll instance of a loop, and the eventfd that interrupts it.
///
/// A socket stays registered while no events are wanted: between two requests on a kept connection that saves two
/// system calls. If it becomes ready meanwhile, it is deregistered.
///
/// `@unchecked Sendable`: `wake` uses a descriptor that never changes; all other state belongs to the thread that runs
/// the loop.
final class EpollPoller: Poller, @unchecked Sendable {
    private struct Watch {
        var handler: (any SocketHandler)?
        var registered: UInt32 = 0
        var wanted: UInt32 = 0
        var generation: UInt32 = 0
    }

    private let epoll: Int32
    private let event: Int32
    @exclusivity(unchecked) private var watches: [Watch] = []
    private let ready: UnsafeMutablePointer<epoll_event>
    private static let wakeToken = UInt64.max
    /// The smallest number of slots that are added at a time.
    private static let growth = 64

    init() throws {
        epoll = epoll_create1(Int32(O_CLOEXEC))
        guard epoll >= 0 else {
            throw CurlewError(.resourcesExhausted, "no epoll descriptor could be made (\(describe(errno)))")
        }
        event = curlew_eventfd()
        guard event >= 0 else {
            close(epoll)
            throw CurlewError(.resourcesExhausted, "no event descriptor could be made (\(describe(errno)))")
        }
        ready = .allocate(capacity: LoopCore.batchLimit)
        guard curlew_epoll_control(epoll, EPOLL_CTL_ADD, event, Readiness.input, Self.wakeToken) == 0 else {
            let problem = describe(errno)
            release()
            throw CurlewError(.resourcesExhausted, "the event descriptor cannot be watched (\(problem))")
        }
    }

    deinit { release() }

    private func release() {
        close(event)
        close(epoll)
        ready.deallocate()
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(event, &one, 8)
    }

    func wait(milliseconds: Int32) -> Int {
        max(0, Int(epoll_wait(epoll, ready, Int32(LoopCore.batchLimit), milliseconds)))
    }

    func deliver(_ count: Int) {
        for index in 0..<count {
            let token = curlew_epoll_token(ready + index)
            if token == Self.wakeToken {
                var value: UInt64 = 0
                _ = read(event, &value, 8)
            } else {
                deliver(descriptor: Int32(truncatingIfNeeded: token), token: token, events: ready[index].events)
            }
        }
    }

    private func deliver(descriptor: Int32, token: UInt64, events: UInt32) {
        let index = Int(descriptor)
        // A descriptor may have been closed and reused earlier in this batch.
        guard index < watches.count, UInt64(watches[index].generation) == token >> 32 else { return }
        let watch = watches[index]
        if watch.wanted & events != 0 || (watch.wanted != 0 && events & (Readiness.error | Readiness.hangUp) != 0) {
            watch.handler?.socketReady(descriptor, events: events)
        } else if watch.wanted == 0 {
            deregister(descriptor)
        }
        // Otherwise the event is no longer wanted: a caller's thread, or a handler earlier in this batch, has changed
        // the watch since the wait. The next wait reports the events that are wanted now.
    }

    func watch(_ descriptor: Int32, for events: UInt32, handler: any SocketHandler) -> CurlewError? {
        let index = Int(descriptor)
        if index >= watches.count {
            watches.append(contentsOf: repeatElement(Watch(), count: max(Self.growth, index + 1 - watches.count)))
        }
        watches[index].handler = handler
        watches[index].wanted = events
        guard events != 0 else { return nil }
        guard watches[index].registered != events else { return nil }
        let isNew = watches[index].registered == 0
        let token = UInt64(watches[index].generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        guard curlew_epoll_control(epoll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, events, token) == 0 else {
            let problem = describe(errno)
            deregister(descriptor)
            // The owner may release the socket without a further call.
            watches[index].handler = nil
            watches[index].wanted = 0
            return CurlewError(.resourcesExhausted, "a socket cannot be watched (\(problem))")
        }
        watches[index].registered = events
        return nil
    }

    func forget(_ descriptor: Int32, of handler: any SocketHandler) {
        let index = Int(descriptor)
        if index < watches.count, watches[index].handler === handler { forget(descriptor) }
    }

    func forget(_ descriptor: Int32) {
        let index = Int(descriptor)
        guard index < watches.count else { return }
        deregister(descriptor)
        let generation = watches[index].generation &+ 1
        watches[index] = Watch()
        // A token must never equal the wake token.
        watches[index].generation = generation == .max ? 0 : generation
    }

    private func deregister(_ descriptor: Int32) {
        let index = Int(descriptor)
        guard watches[index].registered != 0 else { return }
        _ = curlew_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
        watches[index].registered = 0
    }
}
