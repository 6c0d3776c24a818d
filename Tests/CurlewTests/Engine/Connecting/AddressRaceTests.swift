import Glibc
import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("The race of addresses")
    struct AddressRaceTests {
        private let start = Instant(nanoseconds: 1_000_000_000_000)

        private func v4(_ last: UInt32) -> SocketAddress {
            .ip(HostAddress(IPAddress(ipv4: 0xC000_0200 + last)), port: 80)
        }

        private func v6(_ last: UInt128) -> SocketAddress {
            .ip(HostAddress(IPAddress(ipv6: 0x2001_0DB8 << 96 + last)), port: 80)
        }

        private func after(_ milliseconds: Int64) -> Instant { start.advanced(by: milliseconds * 1_000_000) }

        /// Starts the attempt that is due.
        private func begin(_ race: inout AddressRace, at now: Instant) -> SocketAddress? {
            guard case .begin(let address) = race.next(at: now) else { return nil }
            race.noteStart(of: address, at: now)
            return address
        }

        @Test("the address families alternate, beginning with the resolver's first, without repeated addresses")
        func order() {
            let addresses = [v6(1), v6(2), v6(1), v6(3), v4(1), v4(2)]
            #expect(AddressRace.alternating(addresses) == [v6(1), v4(1), v6(2), v4(2), v6(3)])
            #expect(AddressRace.alternating([]) == [])
        }

        @Test("an attempt begins 200 ms after the previous one")
        func delay() {
            var race = AddressRace([v6(1), v4(1)], within: .max)
            #expect(begin(&race, at: start) == v6(1))
            #expect(race.next(at: after(199)) == .wait(until: after(200)))
            #expect(begin(&race, at: after(200)) == v4(1))
            #expect(race.next(at: after(200)) == .wait(until: .distantFuture))
        }

        @Test("an attempt begins at once when a previous one has failed")
        func failure() {
            var race = AddressRace([v6(1), v4(1)], within: .max)
            #expect(begin(&race, at: start) == v6(1))
            race.noteFailure(of: v6(1), ECONNREFUSED, at: after(5))
            #expect(begin(&race, at: after(5)) == v4(1))
            race.noteFailure(of: v4(1), ENETUNREACH, at: after(6))
            #expect(race.next(at: after(6)) == .end)
            guard case .connect(ECONNREFUSED, let tried) = race.failure else { return #expect(Bool(false)) }
            #expect(tried == [v6(1), v4(1)])
        }

        @Test("the oldest of three attempts is abandoned after three seconds if others wait")
        func patience() {
            var race = AddressRace([v4(1), v4(2), v4(3), v4(4)], within: .max)
            for milliseconds in [0, 200, 400] as [Int64] {
                #expect(begin(&race, at: after(milliseconds)) != nil)
            }
            #expect(race.next(at: after(600)) == .wait(until: after(3000)))
            #expect(race.next(at: after(3000)) == .abandon(v4(1)))
            #expect(begin(&race, at: after(3000)) == v4(4))
            #expect(race.next(at: after(9000)) == .wait(until: .distantFuture))
        }

        @Test("attempts share a short time limit, and each has at least 600 ms")
        func shortTime() {
            var race = AddressRace((1...4).map(v4), within: 4_000_000_000)
            for milliseconds in [0, 200, 400] as [Int64] { _ = begin(&race, at: after(milliseconds)) }
            #expect(race.next(at: after(600)) == .wait(until: after(1000)))
            var short = AddressRace((1...4).map(v4), within: 400_000_000)
            for milliseconds in [0, 200, 400] as [Int64] { _ = begin(&short, at: after(milliseconds)) }
            #expect(short.next(at: after(500)) == .wait(until: after(600)))
            #expect(short.next(at: after(600)) == .abandon(v4(1)))
        }

        @Test("an address that failed for lack of a descriptor is tried again after the delay")
        func putBack() {
            var race = AddressRace([v4(1), v4(2)], within: .max)
            _ = begin(&race, at: start)
            #expect(race.next(at: after(200)) == .begin(v4(2)))
            race.putBack(v4(2), at: after(200))
            #expect(race.next(at: after(200)) == .wait(until: after(400)))
            #expect(race.next(at: after(400)) == .begin(v4(2)))
        }

        @Test(
            "the most informative error is reported",
            arguments: [
                ([ENETUNREACH, ECONNREFUSED, ETIMEDOUT], ECONNREFUSED),
                ([ETIMEDOUT, EHOSTUNREACH, ENETUNREACH], ETIMEDOUT),
                ([EADDRNOTAVAIL, EHOSTUNREACH], EHOSTUNREACH),
                ([ENETUNREACH, EAFNOSUPPORT], ENETUNREACH),
                ([EACCES, ETIMEDOUT], EACCES),
            ] as [([Int32], Int32)])
        func mostTelling(errors: [Int32], expected: Int32) {
            var race = AddressRace([v4(1)], within: .max)
            for number in errors { race.noteFailure(of: v4(1), number, at: start) }
            guard case .connect(expected, _) = race.failure else {
                return #expect(Bool(false), "\(race.failure)")
            }
        }

        @Test("a race reports forbidden addresses only if no other was tried")
        func forbidden() {
            var race = AddressRace([v4(1)], within: .max)
            race.noteForbidden(v4(1))
            guard case .forbidden(v4(1)) = race.failure else { return #expect(Bool(false)) }
            race.noteFailure(of: v4(2), ECONNREFUSED, at: start)
            guard case .connect(ECONNREFUSED, _) = race.failure else { return #expect(Bool(false)) }
        }
    }
}
