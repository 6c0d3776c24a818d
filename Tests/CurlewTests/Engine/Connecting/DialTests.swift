import Glibc
import Testing

@testable import CurlewCore

/// The dials of a test. They are only used on the loop.
private final class Dials: @unchecked Sendable {
    var all: [Dial] = []
}

private let hasIPv6 = (try? Listener("::1")) != nil

extension Connecting {
    @Suite("Dialing")
    struct DialTests {
        private let bench: DialBench

        init() throws { bench = try DialBench() }

        // MARK: Connecting

        @Test("a connected socket is non-blocking, closed on exec, without Nagle's delay and with keep-alive probes")
        func options() async throws {
            let listener = try Listener()
            let socket = try await bench.outcome(of: .init(.host("127.0.0.1", port: listener.port))).socket()
            defer { close(socket.descriptor) }
            let server = try listener.acceptOne()
            #expect(socket.peer == listener.address)
            #expect(fcntl(socket.descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
            #expect(option(socket.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
            #expect(option(socket.descriptor, SOL_SOCKET, SO_KEEPALIVE) == 1)
            #expect(option(socket.descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 15)
            #expect(write(socket.descriptor, "hi", 2) == 2)
            var space = [UInt8](repeating: 0, count: 8)
            #expect(recv(server.number, &space, 8, 0) == 2)
            #expect(socket.connected >= socket.nameLookUp)
        }

        private func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
            var value: Int32 = 0
            var length = socklen_t(4)
            return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : -1
        }

        @Test("a name is looked up once, and cached for its lifetime")
        func names() async throws {
            let listener = try Listener()
            let stalled = StalledLookUps()
            stalled.letGo()
            let resolver = stalled.resolver()
            var plan = Dial.Plan(.host("a.test", port: listener.port))
            plan.nameLifetime = .max
            for _ in 0..<2 { await bench.outcome(of: plan, resolver: resolver).close() }
            #expect(stalled.count == 1)
            plan.nameLifetime = 0
            let outcome = await bench.outcome(of: plan, resolver: resolver)
            #expect(stalled.count == 2)
            #expect(try outcome.socket().nameLookUp > .zero)
            outcome.close()
        }

        @Test("a name whose addresses all refuse is looked up again before the end of its lifetime")
        func refusing() async throws {
            let stalled = StalledLookUps()
            stalled.letGo()
            let resolver = stalled.resolver()
            let (listening, refusing) = (try Listener(), try Listener(backlog: nil))
            func connect(to listener: Listener) async -> Dial.Outcome {
                var plan = Dial.Plan(.host("a.test", port: listener.port))
                plan.nameLifetime = .max
                return await bench.outcome(of: plan, resolver: resolver)
            }
            await connect(to: listening).close()
            let outcome = await connect(to: refusing)
            var isRefused = false
            if case .failure(.connect) = outcome { isRefused = true }
            #expect(isRefused && stalled.count == 1)
            await connect(to: listening).close()
            #expect(stalled.count == 2)
        }

        @Test("a connection to an IPv6 address succeeds", .enabled(if: hasIPv6), arguments: ["[::1]", "::1", "0:0::1"])
        func ipv6(_ host: String) async throws {
            let listener = try Listener("::1")
            let outcome = await bench.outcome(of: .init(.host(host, port: listener.port)))
            #expect(try outcome.socket().peer == listener.address)
            outcome.close()
        }

        @Test("localhost reaches a listener of either address family", arguments: ["127.0.0.1", "::1"])
        func localhost(_ text: String) async throws {
            guard let listener = try? Listener(text) else { return }
            let outcome = await bench.outcome(of: .init(.host("localhost", port: listener.port)))
            #expect(try outcome.socket().peer == listener.address)
            outcome.close()
        }

        @Test("an excluded address family is not tried")
        func family() async throws {
            let listener = try Listener()
            var plan = Dial.Plan(listener.address)
            plan.family = .ipv6
            guard case .name(let failure)? = await bench.outcome(of: plan).failure else {
                return #expect(Bool(false))
            }
            #expect(failure.kind == .notFound)
        }

        @Test("an address family without system support is skipped")
        func missingFamily() async throws {
            let listener = try Listener()
            let outcome = await bench.outcome(
                of: .init(.host("localhost", port: listener.port)),
                makeSocket: { family in
                    errno = EAFNOSUPPORT
                    return family == AF_INET6 ? -1 : DialAttempt.makeSocket(family)
                })
            #expect(try outcome.socket().peer == listener.address)
            outcome.close()
        }

        // MARK: Failures and the race

        @Test("a refused connection is reported with its address")
        func refused() async throws {
            let closed = try Listener(backlog: nil)
            let failure = await bench.outcome(of: .init(closed.address)).failure
            guard case .connect(ECONNREFUSED, let tried)? = failure else {
                return #expect(Bool(false), "\(failure as Any)")
            }
            #expect(tried == [closed.address])
        }

        @Test("the next address is tried at once after a refusal")
        func refusedThenGood() async throws {
            let good = try Listener("127.0.0.2")
            let refusing = (11...30).map { HostAddress(IPAddress(ipv4: 0x7F00_0000 + $0)) }
            let hosts = refusing + [try #require(good.address.host)]
            let outcome = await bench.outcome(of: .init(.addresses(hosts, port: good.port)))
            let socket = try outcome.socket()
            #expect(socket.peer == good.address)
            // Delays of 200 ms between twenty addresses would take four seconds.
            #expect(socket.connected < .seconds(3))
            outcome.close()
        }

        @Test("the next address is tried after 200 ms of silence, and the losing socket is closed")
        func silentThenGood() async throws {
            let (good, (silent, filler)) = try Listener.atOnePort {
                let good = try Listener("127.0.0.2")
                return (good, try Listener.crowded("127.0.0.1", port: good.port))
            }
            let held = openSockets()
            let outcome = await bench.outcome(of: .init(silent.address, good.address))
            let socket = try outcome.socket()
            #expect(socket.peer == good.address)
            #expect(socket.connected >= .milliseconds(200))
            #expect(openSockets() == held + 1)
            outcome.close()
            withExtendedLifetime(filler) {}
        }

        @Test("a dial whose first addresses are all silent reaches the last one")
        func manySilent() async throws {
            let (good, silent) = try Listener.atOnePort {
                let good = try Listener("127.0.0.9")
                return (good, try (1...4).map { try Listener.crowded("127.0.0.\($0)", port: good.port) })
            }
            let places = silent.map { $0.0.address } + [good.address]
            var plan = Dial.Plan(.addresses(places.compactMap(\.host), port: good.port))
            plan.deadline = Instant.now.advanced(by: 5_000_000_000)
            let held = openSockets()
            let outcome = await bench.outcome(of: plan)
            #expect(try outcome.socket().peer == good.address)
            #expect(openSockets() == held + 1)
            outcome.close()
        }

        @Test("a thousand concurrent dials share one look-up and all connect")
        func many() async throws {
            let listener = try Listener(backlog: 4096)
            let plan = Dial.Plan(.host("a.test", port: listener.port))
            let stalled = StalledLookUps()
            let resolver = stalled.resolver()
            let (outcomes, result) = AsyncStream<Dial.Outcome>.makeStream()
            let count = 1000
            let dials = await bench.run { [bench] in
                let dials = Dials()
                for _ in 0..<count {
                    let dial = Dial(plan, bench.surroundings(resolver), gate: { _ in true }) { result.yield($0) }
                    dial.start()
                    dials.all.append(dial)
                }
                return dials
            }
            stalled.letGo()
            var descriptors: Set<Int32> = []
            for await outcome in outcomes.prefix(count) { descriptors.insert(try outcome.socket().descriptor) }
            #expect(descriptors.count == count)
            #expect(stalled.count == 1)
            for descriptor in descriptors { close(descriptor) }
            await bench.run { dials.all = [] }
        }

        @Test("a failed look-up is reported")
        func unknownName() async throws {
            let resolver = NameResolver { _ in .failure(NameFailure(.temporary, "later")) }
            let outcome = await bench.outcome(of: .init(.host("a.test", port: 1)), resolver: resolver)
            guard case .name(let failure)? = outcome.failure else { return #expect(Bool(false)) }
            #expect(failure == NameFailure(.temporary, "later"))
        }

        @Test("a socket that is connected to itself is refused, and releases its port")
        func selfConnection() async throws {
            let descriptor = DialAttempt.makeSocket(AF_INET)
            let any = SocketAddress.ip(HostAddress.loopback[0], port: 0)
            #expect(any.withSystemForm { bind(descriptor, $0, $1) } == 0)
            let place = try #require(SocketAddress.localEnd(of: descriptor))
            let outcome = await bench.outcome(of: .init(place), makeSocket: { _ in descriptor })
            guard case .connect(ECONNREFUSED, _)? = outcome.failure else { return #expect(Bool(false)) }
            guard case .ip(_, let port) = place else { return }
            // A listener can use the port at once, because the dial has released it.
            _ = try Listener(port: port)
        }
    }
}

extension SocketAddress {
    fileprivate var host: HostAddress? {
        guard case .ip(let host, _) = self else { return nil }
        return host
    }
}
