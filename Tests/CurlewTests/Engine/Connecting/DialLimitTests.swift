import Glibc
import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("The gate, the deadline and the descriptors of a dial")
    struct DialLimitTests {
        private let bench: DialBench

        init() throws { bench = try DialBench() }

        // MARK: The gate

        @Test("a forbidden address is skipped, and the gate checks each address before its socket is created")
        func forbidden() async throws {
            let (good, bad) = try Listener.atOnePort {
                let good = try Listener("127.0.0.2")
                return (good, try Listener("127.0.0.1", port: good.port))
            }
            let log = Guarded<[String]>([])
            let badAddress = bad.address
            let outcome = await bench.outcome(
                of: .init(bad.address, good.address),
                makeSocket: { family in
                    log.withLock { $0.append("socket") }
                    return DialAttempt.makeSocket(family)
                },
                gate: { address in
                    log.withLock { $0.append("gate") }
                    return address != badAddress
                })
            #expect(try outcome.socket().peer == good.address)
            #expect(log.withLock { $0 } == ["gate", "gate", "socket"])
            outcome.close()
        }

        @Test("the last of several forbidden addresses is reported, and no socket is created")
        func allForbidden() async throws {
            let (good, other) = try Listener.atOnePort {
                let good = try Listener("127.0.0.2")
                return (good, try Listener("127.0.0.1", port: good.port))
            }
            let outcome = await bench.outcome(
                of: .init(other.address, good.address), makeSocket: { _ in -1 }, gate: { _ in false })
            guard case .forbidden(good.address)? = outcome.failure else { return #expect(Bool(false)) }
        }

        @Test("a peer address that differs from the dialed one is checked too")
        func unspecified() async throws {
            let listener = try Listener()
            let held = openSockets()
            let outcome = await bench.outcome(
                of: .init(.host("0.0.0.0", port: listener.port)), gate: { $0.ip?.isLoopback != true })
            guard case .forbidden(listener.address)? = outcome.failure else { return #expect(Bool(false)) }
            #expect(openSockets() == held)
        }

        // MARK: The deadline

        @Test("a deadline that passes during a look-up ends the dial")
        func lookUpTimeout() async throws {
            let stalled = StalledLookUps()
            var plan = Dial.Plan(.host("a.test", port: 1))
            plan.deadline = Instant.now.advanced(by: 20_000_000)
            let failure = await bench.outcome(of: plan, resolver: stalled.resolver()).failure
            guard case .timeout(.nameLookUp)? = failure else { return #expect(Bool(false)) }
            stalled.letGo()
        }

        @Test("a deadline that passes while a socket is connecting ends the dial")
        func connectTimeout() async throws {
            let (silent, filler) = try Listener.crowded()
            var plan = Dial.Plan(silent.address)
            plan.deadline = Instant.now.advanced(by: 500_000_000)
            let held = openSockets()
            guard case .timeout(.connecting)? = await bench.outcome(of: plan).failure else {
                return #expect(Bool(false))
            }
            #expect(openSockets() == held)
            withExtendedLifetime(filler) {}
        }

        @Test("a dial with a deadline in the past ends in a timeout")
        func lateStart() async throws {
            var plan = Dial.Plan(.host("127.0.0.1", port: 1))
            plan.deadline = Instant(nanoseconds: 1)
            guard case .timeout? = await bench.outcome(of: plan).failure else { return #expect(Bool(false)) }
        }

        // MARK: Lack of descriptors

        @Test("a lack of descriptors is reported at once", arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
        func noDescriptor(_ number: Int32) async throws {
            let outcome = await bench.outcome(
                of: .init(.host("localhost", port: 1)),
                makeSocket: { _ in
                    errno = number
                    return -1
                })
            guard case .noDescriptor(number)? = outcome.failure else { return #expect(Bool(false)) }
        }

        @Test("a look-up that fails for lack of descriptors is reported as such")
        func noDescriptorForLookUp() async throws {
            let resolver = NameResolver { _ in .failure(NameFailure(.system(EMFILE), "")) }
            let outcome = await bench.outcome(of: .init(.host("a.test", port: 1)), resolver: resolver)
            guard case .noDescriptor(EMFILE)? = outcome.failure else { return #expect(Bool(false)) }
        }

        @Test("an open attempt continues despite a lack of descriptors, and the other address is tried again")
        func laterDescriptor() async throws {
            let (good, (silent, filler)) = try Listener.atOnePort {
                let good = try Listener("127.0.0.2")
                return (good, try Listener.crowded("127.0.0.1", port: good.port))
            }
            let calls = Guarded(0)
            let outcome = await bench.outcome(
                of: .init(silent.address, good.address),
                makeSocket: { family in
                    let call = calls.withLock {
                        $0 += 1
                        return $0
                    }
                    guard call != 2 else {
                        errno = EMFILE
                        return -1
                    }
                    return DialAttempt.makeSocket(family)
                })
            #expect(try outcome.socket().peer == good.address)
            #expect(try outcome.socket().connected >= .milliseconds(400))
            outcome.close()
            withExtendedLifetime(filler) {}
        }
    }
}
