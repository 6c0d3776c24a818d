import Glibc
import Testing

@testable import Curlew

extension Connecting {
    @Suite("Dials to Unix sockets")
    struct UnixSocketDialTests {
        private let bench: DialBench
        private let folder: Folder
        private var path: String { folder.path + "/s" }

        init() throws {
            bench = try DialBench()
            folder = try Folder()
        }

        @Test("a Unix socket is connected to, and the local interface has no meaning")
        func good() async throws {
            let listener = try Listener(path: path, backlog: 1)
            var plan = Dial.Plan(.unixSocket(path: path))
            plan.localInterface = "nowhere0"
            let outcome = await bench.outcome(of: plan)
            let socket = try outcome.socket()
            #expect(socket.peer == nil)
            #expect(socket.nameLookUp == .zero)
            _ = try listener.acceptOne()
            outcome.close()
        }

        @Test("a Unix socket that is missing, and one without a listener, have their errors")
        func missing() async throws {
            let missing = await bench.outcome(of: .init(.unixSocket(path: path))).failure
            guard case .connect(ENOENT, let tried)? = missing else { return #expect(Bool(false)) }
            #expect(tried == [.unixSocket(Array(path.utf8))])
        }

        @Test("a path that the system does not take is an error")
        func paths() async throws {
            func number(_ path: String) async -> Int32 {
                guard case .connect(let number, _)? = await bench.outcome(of: .init(.unixSocket(path: path))).failure
                else { return 0 }
                return number
            }
            #expect(await number("") == EINVAL)
            #expect(await number("/tmp/a\0b") == EINVAL)
            #expect(await number("/" + String(repeating: "a", count: 107)) == ENAMETOOLONG)
            #expect(await number("@abstract") == ENOENT)
        }

        @Test("a listener without room is asked again until it has some")
        func crowded() async throws {
            let listener = try Listener(path: path, backlog: 0)
            let filler = try listener.connectOne()
            let calls = Guarded(0)
            let (begun, signal) = AsyncStream<Void>.makeStream()
            let plan = Dial.Plan(.unixSocket(path: path))
            async let outcome = bench.outcome(
                of: plan,
                makeSocket: { family in
                    calls.withLock { $0 += 1 }
                    signal.yield()
                    return DialAttempt.makeSocket(family)
                })
            var iterator = begun.makeAsyncIterator()
            await iterator.next()
            await bench.turns()
            let server = try listener.acceptOne()
            let socket = try await outcome.socket()
            defer { close(socket.descriptor) }
            #expect(socket.peer == nil)
            // The same socket is connected in the end.
            #expect(calls.withLock { $0 } == 1)
            withExtendedLifetime((filler, server)) {}
        }

        @Test("a listener that never has room is a timeout, after few tries")
        func neverRoom() async throws {
            let listener = try Listener(path: path, backlog: 0)
            let filler = try listener.connectOne()
            var plan = Dial.Plan(.unixSocket(path: path))
            plan.deadline = Instant.now.advanced(by: 30_000_000)
            let held = openSockets()
            guard case .timeout(.connecting)? = await bench.outcome(of: plan).failure else {
                return #expect(Bool(false))
            }
            #expect(openSockets() == held)
            withExtendedLifetime((filler, listener)) {}
        }
    }
}
