/// Holds one transfer to the limits in force: its own, and the one that it shares with the other tasks of its session.
///
/// Made only for a transfer that has a limit. It is touched on the loop alone.
///
/// libcurl has limits of its own (`CURLOPT_MAX_RECV_SPEED_LARGE`), which do not serve here: they know one transfer, so that a
/// session's could not be shared; a transfer that they hold looks like one whose peer is silent, as the idle timer sees it; they
/// average over seconds; over HTTP/2 they do not close the window, so that the peer sends on into memory; and a limit that is
/// lifted would wait for the timer that the old one had set.
final class Pace {
    let sending: Lane
    let receiving: Lane
    private var own: RateLines
    private var shared: SharedRate?
    private let core: LoopCore

    init(for transfer: Transfer, limit: RateLimit, shared: SharedRate?) {
        core = transfer.multi.core
        own = RateLines(limit, at: core.now)
        self.shared = shared
        sending = Lane(.sending, hold: .sendingRate)
        receiving = Lane(.receiving, hold: .receivingRate)
        sending.transfer = transfer
        receiving.transfer = transfer
    }

    /// Whether so many bytes may pass now. If not, the lane calls when they may.
    func admits(_ count: Int, on lane: Lane) -> Bool {
        if lane.granted < count {
            let missing = count - lane.granted
            let opening = max(
                own.reserve(missing, lane.direction, at: core.now),
                shared?.reserve(missing, lane.direction, at: core.now) ?? core.now)
            lane.opening = max(lane.opening, opening)
            lane.granted = count
        }
        guard lane.opening <= core.now else {
            core.timers.set(lane, to: lane.opening)
            return false
        }
        lane.granted -= count
        return true
    }

    /// How many of `count` bytes may pass now; 0 is to wait for the lane's call.
    func allowance(for count: Int, on lane: Lane) -> Int {
        let step = min(own[lane.direction]?.step ?? .max, shared?.step(lane.direction) ?? .max)
        let part = min(count, lane.granted > 0 ? lane.granted : step)
        return admits(part, on: lane) ? part : 0
    }

    /// What was allowed and was not there.
    func keep(_ count: Int, on lane: Lane) { lane.granted += count }

    /// Other limits hold from now on.
    func change(limit: RateLimit, shared: SharedRate?) {
        release()
        own.change(to: limit, at: core.now)
        self.shared = shared
    }

    /// Leaves the lines.
    func release() {
        for lane in [sending, receiving] {
            core.timers.remove(lane)
            own.giveBack(lane.granted, lane.direction)
            shared?.giveBack(lane.granted, lane.direction)
            lane.granted = 0
            lane.opening = core.now
        }
    }

    /// One direction.
    final class Lane: LoopTimer {
        let direction: RateLines.Direction
        private let hold: Transfer.Holds
        /// Bytes that have their turn when the lane opens.
        fileprivate(set) var granted = 0
        fileprivate var opening = Instant(nanoseconds: 0)
        fileprivate weak var transfer: Transfer?

        fileprivate init(_ direction: RateLines.Direction, hold: Transfer.Holds) {
            self.direction = direction
            self.hold = hold
        }

        override func fire() { transfer?.release(hold) }
    }
}
