/// An object that is called at a set time, on the loop.
///
/// A base class instead of a closure: a transfer is its own timer, so that setting it allocates no memory.
class LoopTimer {
    /// The time at which `fire` is due. Changed by ``TimerHeap`` only.
    fileprivate(set) var deadline = Instant.distantFuture
    fileprivate var position = -1

    /// Called on the loop, once after each set deadline.
    func fire() {}
}

/// A binary heap of timers, the nearest first; setting, moving and removing take O(log n).
struct TimerHeap {
    private var timers: [LoopTimer] = []

    var nextDeadline: Instant { timers.first?.deadline ?? .distantFuture }
    var isEmpty: Bool { timers.isEmpty }

    /// Sets or moves a timer. A deadline in the distant future removes it.
    mutating func set(_ timer: LoopTimer, to deadline: Instant) {
        guard deadline < .distantFuture else { return remove(timer) }
        let isNew = timer.position < 0
        let isLater = deadline > timer.deadline
        timer.deadline = deadline
        if isNew {
            timer.position = timers.count
            timers.append(timer)
            siftUp(timer.position)
        } else if isLater {
            siftDown(timer.position)
        } else {
            siftUp(timer.position)
        }
    }

    mutating func remove(_ timer: LoopTimer) {
        let position = timer.position
        guard position >= 0 else { return }
        timer.position = -1
        timer.deadline = .distantFuture
        let last = timers.removeLast()
        guard last !== timer else { return }
        place(last, at: position)
        siftDown(position)
        siftUp(last.position)
    }

    /// Removes and returns the nearest timer if it is due.
    mutating func popDue(at now: Instant) -> LoopTimer? {
        guard let first = timers.first, first.deadline <= now else { return nil }
        remove(first)
        return first
    }

    private mutating func place(_ timer: LoopTimer, at position: Int) {
        timers[position] = timer
        timer.position = position
    }

    private mutating func siftUp(_ start: Int) {
        var position = start
        let timer = timers[position]
        while position > 0 {
            let parent = (position - 1) / 2
            guard timer.deadline < timers[parent].deadline else { break }
            place(timers[parent], at: position)
            position = parent
        }
        place(timer, at: position)
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        let timer = timers[position]
        while true {
            var child = 2 * position + 1
            guard child < timers.count else { break }
            if child + 1 < timers.count, timers[child + 1].deadline < timers[child].deadline { child += 1 }
            guard timers[child].deadline < timer.deadline else { break }
            place(timers[child], at: position)
            position = child
        }
        place(timer, at: position)
    }
}
