import Testing

@testable import CurlewCore

@Suite("The limits of a connection, without a socket")
struct ConnectionHygieneTests {
    @Test("a connection without limits never reaches the end of its use")
    func none() {
        let hygiene = ConnectionHygiene(ConnectionLimits())
        #expect(!hygiene.isOn)
        #expect(!hygiene.forbids(age: .max - 1, silence: .max - 1, uses: .max))
        #expect(!ConnectionHygiene(ConnectionLimits(maximumAge: Timeouts.unlimited)).isOn)
    }

    @Test("a connection may not be reused from the moment at which it reaches a limit")
    func limits() {
        let hygiene = ConnectionHygiene(
            ConnectionLimits(maximumAge: .seconds(10), maximumUses: 3, silenceTimeout: .milliseconds(1)))
        #expect(hygiene.isOn)
        #expect(!hygiene.forbids(age: 9_999_999_999, silence: 999_999, uses: 2))
        #expect(hygiene.forbids(age: 10_000_000_000, silence: 0, uses: 1))
        #expect(hygiene.forbids(age: 0, silence: 1_000_000, uses: 1))
        #expect(hygiene.forbids(age: 0, silence: 0, uses: 3))
    }

    @Test("the probe interval is in whole seconds, rounded up, within the system's limit")
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
}
