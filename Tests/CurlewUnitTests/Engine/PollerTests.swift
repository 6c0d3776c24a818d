import Glibc
import Testing

@testable import CurlewCore

@Suite("Sockets watched by a loop", .timeLimit(.minutes(1)))
struct PollerTests {
    private final class Recorder: SocketHandler {
        var events: [UInt32] = []

        func socketReady(_ descriptor: Int32, events: UInt32) { self.events.append(events) }
    }

    /// Two connected sockets; the first one's send buffer is full if `isFull` is true.
    private func makePair(isFull: Bool) throws -> (near: Int32, far: Int32) {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        if isFull {
            let block = [UInt8](repeating: 0, count: 65_536)
            while write(pair[0], block, block.count) > 0 {}
        }
        return (pair[0], pair[1])
    }

    private func drain(_ descriptor: Int32) {
        var space = [UInt8](repeating: 0, count: 65_536)
        while read(descriptor, &space, space.count) > 0 {}
    }

    @Test("an event that has become unwanted does not end the watch for the others")
    func staleEvent() throws {
        let poller = try SystemPoller()
        let recorder = Recorder()
        let (near, far) = try makePair(isFull: true)
        defer {
            close(near)
            close(far)
        }
        #expect(poller.watch(near, for: Readiness.input | Readiness.output, handler: recorder) == nil)
        #expect(write(far, "x", 1) == 1)
        let stale = poller.wait(milliseconds: 1_000)
        #expect(stale == 1)
        // The reader has finished before the event is delivered, as the handler of another socket may cause.
        #expect(poller.watch(near, for: Readiness.output, handler: recorder) == nil)
        poller.deliver(stale)
        #expect(recorder.events == [])

        drain(far)
        poller.deliver(poller.wait(milliseconds: 1_000))
        #expect(recorder.events == [Readiness.output])
    }

    @Test("a socket that is ready while no event is wanted does not keep the loop awake")
    func unwantedEvent() throws {
        let poller = try SystemPoller()
        let recorder = Recorder()
        let (near, far) = try makePair(isFull: false)
        defer {
            close(near)
            close(far)
        }
        #expect(poller.watch(near, for: Readiness.input, handler: recorder) == nil)
        #expect(poller.watch(near, for: 0, handler: recorder) == nil)
        #expect(write(far, "x", 1) == 1)
        poller.deliver(poller.wait(milliseconds: 1_000))
        #expect(recorder.events == [])
        #expect(poller.wait(milliseconds: 0) == 0)

        #expect(poller.watch(near, for: Readiness.input, handler: recorder) == nil)
        poller.deliver(poller.wait(milliseconds: 1_000))
        #expect(recorder.events == [Readiness.input])
    }
}
