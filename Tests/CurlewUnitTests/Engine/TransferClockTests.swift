import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The time limits of a transfer, with simulated time")
struct TransferClockTests {
    private let total = Instant(nanoseconds: 1000)

    private func clock() -> TransferClock {
        var clock = TransferClock(TransferClock.Limits(connectionWait: 40, head: 60, idle: 100))
        clock.totalDeadline = total
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

    @Test("the wait for a connection is limited and measured, until a connection exists or is begun")
    func waiting() {
        var clock = clock()
        clock.beginWaiting(at: Instant(nanoseconds: 100))
        #expect(clock.nearestDeadline(position(.connecting)) == Instant(nanoseconds: 140))
        #expect(clock.expiry(at: Instant(nanoseconds: 139), position(.connecting)) == nil)
        #expect(clock.expiry(at: Instant(nanoseconds: 140), position(.connecting)) == .connectionWait)
        clock.endWaiting(at: Instant(nanoseconds: 130))
        clock.endWaiting(at: Instant(nanoseconds: 150))
        #expect(clock.nearestDeadline(position(.connecting)) == total)
        #expect(clock.takeWaited(at: Instant(nanoseconds: 200)) == .nanoseconds(30))
        #expect(clock.takeWaited(at: Instant(nanoseconds: 200)) == .zero)
    }

    @Test("a suspension by the user stops the wait for a connection, which starts again afterwards")
    func suspendedWaiting() {
        var clock = clock()
        clock.beginWaiting(at: Instant(nanoseconds: 100))
        #expect(clock.nearestDeadline(position(.connecting, .suspended)) == total)
        clock.restart(at: Instant(nanoseconds: 300))
        #expect(clock.nearestDeadline(position(.connecting)) == Instant(nanoseconds: 340))
        #expect(clock.takeWaited(at: Instant(nanoseconds: 310)) == .nanoseconds(210))
    }

    @Test("the head limit runs from the request to the start of the answer, except during a suspension")
    func head() {
        var clock = clock()
        clock.awaitHead(since: Instant(nanoseconds: 70))
        #expect(clock.nearestDeadline(position(.exchanging)) == Instant(nanoseconds: 130))
        #expect(clock.expiry(at: Instant(nanoseconds: 130), position(.exchanging)) == .head)
        #expect(clock.nearestDeadline(position(.exchanging, .suspended)) == total)
        clock.restart(at: Instant(nanoseconds: 200))
        #expect(clock.nearestDeadline(position(.exchanging)) == Instant(nanoseconds: 260))
        #expect(clock.nearestDeadline(position(.receiving)) == Instant(nanoseconds: 300))
        clock.endAwaitingHead()
        #expect(clock.nearestDeadline(position(.exchanging)) == Instant(nanoseconds: 300))
    }

    @Test("limits beyond the countable range are unlimited")
    func unlimited() {
        var clock = TransferClock(TransferClock.Limits())
        clock.noteActivity(at: .now)
        clock.beginWaiting(at: .now)
        clock.awaitHead(since: .now)
        for stage in [CurlewError.Stage.connecting, .exchanging, .receiving] {
            #expect(clock.nearestDeadline(position(stage)) == .distantFuture)
        }
    }

    @Test("the total limit runs in every state of the transfer")
    func totals() {
        #expect(clock().expiry(at: total, position(.connecting)) == .total)
        #expect(clock().expiry(at: total, position(.receiving, .suspended)) == .total)
    }

    @Test("the idle clock stops during a suspension, and during a wait for a rate limit or a reader")
    func standingStill() {
        for pauses in [PauseReasons.suspended, .sendingRate, .receivingRate, .reader] {
            #expect(clock().nearestDeadline(position(.receiving, pauses)) == total)
        }
        let abandoned = position(.receiving, .reader, isClaimed: false)
        #expect(clock().expiry(at: Instant(nanoseconds: 150), abandoned) == .idle)
        // A producer that delays the request's body does not stop the clock.
        #expect(clock().expiry(at: Instant(nanoseconds: 150), position(.exchanging, .body)) == .idle)
    }
}
