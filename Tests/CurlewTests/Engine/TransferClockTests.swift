import Testing

@testable import Curlew

@Suite("The time limits of a transfer, without waiting")
struct TransferClockTests {
    private let total = Instant(nanoseconds: 1000)

    private func clock() -> TransferClock {
        var clock = TransferClock(idleLimit: 100, totalDeadline: total)
        clock.noteActivity(at: Instant(nanoseconds: 50))
        return clock
    }

    private func position(
        _ stage: CurlewError.Stage, _ pauses: PauseReasons = [], isClaimed: Bool = true
    ) -> TransferClock.Position {
        TransferClock.Position(stage: stage, pauses: pauses, isClaimed: isClaimed)
    }

    @Test("the idle limit counts from the last byte, once there is a connection")
    func idle() {
        for stage in [CurlewError.Stage.exchanging, .receiving] {
            #expect(clock().nearestDeadline(position(stage)) == Instant(nanoseconds: 150))
            #expect(clock().expiry(at: Instant(nanoseconds: 149), position(stage)) == nil)
            #expect(clock().expiry(at: Instant(nanoseconds: 150), position(stage)) == .idle)
        }
        for stage in [CurlewError.Stage.preparing, .connecting] {
            #expect(clock().nearestDeadline(position(stage)) == total)
        }
    }

    @Test("the total limit runs whatever the transfer does")
    func totals() {
        #expect(clock().expiry(at: total, position(.connecting)) == .total)
        #expect(clock().expiry(at: total, position(.receiving, .suspended)) == .total)
    }

    @Test("the idle clock stands still for the user, for a limit of rate, and for a reader if there is one")
    func standingStill() {
        for pauses in [PauseReasons.suspended, .sendingRate, .receivingRate, .reader] {
            #expect(clock().nearestDeadline(position(.receiving, pauses)) == total)
        }
        let abandoned = position(.receiving, .reader, isClaimed: false)
        #expect(clock().expiry(at: Instant(nanoseconds: 150), abandoned) == .idle)
        // A body that the caller does not produce is no reason.
        #expect(clock().expiry(at: Instant(nanoseconds: 150), position(.exchanging, .body)) == .idle)
    }
}
