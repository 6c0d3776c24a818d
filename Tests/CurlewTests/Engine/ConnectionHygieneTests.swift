import Testing

@testable import Curlew

@Suite("The limits of a connection, without a socket")
struct ConnectionHygieneTests {
    @Test("a connection without limits is never worn")
    func none() {
        let hygiene = ConnectionHygiene(ConnectionLimits())
        #expect(!hygiene.isOn)
        #expect(!hygiene.forbids(age: .max - 1, silence: .max - 1, uses: .max))
        #expect(!ConnectionHygiene(ConnectionLimits(maximumAge: Timeouts.unlimited)).isOn)
    }

    @Test("a connection is worn from the moment at which it reaches one of its limits")
    func limits() {
        let hygiene = ConnectionHygiene(
            ConnectionLimits(maximumAge: .seconds(10), maximumUses: 3, silence: .milliseconds(1)))
        #expect(hygiene.isOn)
        #expect(!hygiene.forbids(age: 9_999_999_999, silence: 999_999, uses: 2))
        #expect(hygiene.forbids(age: 10_000_000_000, silence: 0, uses: 1))
        #expect(hygiene.forbids(age: 0, silence: 1_000_000, uses: 1))
        #expect(hygiene.forbids(age: 0, silence: 0, uses: 3))
    }

    @Test("the interval of probes is whole seconds, rounded up, and no more than the system takes")
    func probes() {
        func interval(_ duration: Duration?) -> Int32 {
            ConnectionHygiene(ConnectionLimits(keepAliveInterval: duration)).probeInterval
        }
        #expect(interval(.seconds(15)) == 15)
        #expect(interval(.milliseconds(1)) == 1)
        #expect(interval(.milliseconds(2001)) == 3)
        #expect(interval(.seconds(86_400)) == 32_767)
        #expect(interval(Timeouts.unlimited) == 32_767)
        #expect(interval(nil) == 0)
    }

    @Test("a generation is left once, by the first of those who find it worn, and its number never comes again")
    func generations() {
        var generations = ConnectionGenerations()
        let place = ConnectionGenerations.Place(policy: 1, authority: "a.test")
        let other = ConnectionGenerations.Place(policy: 2, authority: "a.test")
        #expect(generations.isEmpty && generations[place] == 0)
        for _ in 0..<3 { generations.leave(0, at: place) }
        #expect(generations[place] == 1 && generations[other] == 0)
        generations.leave(0, at: other)
        generations.leave(1, at: place)
        #expect(generations[place] == 3 && generations[other] == 2)
    }

    @Test("as many generations are kept as are allowed, and a number that was forgotten is not given again")
    func bounded() {
        var generations = ConnectionGenerations()
        let places = (0...ConnectionGenerations.limit).map {
            ConnectionGenerations.Place(policy: 1, authority: "\($0).test")
        }
        for place in places { generations.leave(0, at: place) }
        #expect(generations[places[0]] == 0)
        #expect(generations[places[ConnectionGenerations.limit]] == UInt64(ConnectionGenerations.limit) + 1)
        generations.leave(0, at: places[0])
        #expect(generations[places[0]] == UInt64(ConnectionGenerations.limit) + 2)
    }
}
