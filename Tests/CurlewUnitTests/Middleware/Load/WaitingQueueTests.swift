import SeededNumbers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("A queue of waiting requests")
struct WaitingQueueTests {
    @Test("a request of higher priority is first, and equal ones keep their order")
    func order() {
        var queue = WaitingQueue()
        let low = queue.join(.low)
        let first = queue.join(.normal)
        let second = queue.join(.normal)
        let critical = queue.join(.critical)
        #expect([queue.next(), queue.next(), queue.next(), queue.next()] == [critical, first, second, low])
        #expect(queue.next() == nil && queue.isEmpty)
    }

    @Test("every eighth turn belongs to the oldest request, whatever its priority")
    func fairness() {
        var queue = WaitingQueue()
        let patient = queue.join(.background)
        var turns: [UInt64] = []
        for _ in 0..<8 {
            _ = queue.join(.critical)
            if let number = queue.next() { turns.append(number) }
        }
        #expect(turns.last == patient && turns.filter { $0 == patient }.count == 1)
    }

    @Test("a removed request gets no turn, and cannot be removed twice")
    func leaving() {
        var queue = WaitingQueue()
        let first = queue.join(.normal)
        let second = queue.join(.normal)
        #expect(queue.leave(first) == true)
        #expect(queue.leave(first) == false)
        #expect(queue.next() == second)
        #expect(queue.leave(second) == false)
    }

    @Test("the oldest request of the lowest priority is dropped, but never for a newcomer of lower priority")
    func dropping() {
        var queue = WaitingQueue()
        let high = queue.join(.high)
        #expect(queue.dropOldest(below: .normal) == nil)
        let older = queue.join(.normal)
        _ = queue.join(.normal)
        #expect(queue.dropOldest(below: .normal) == older)
        #expect(queue.ahead(of: .normal) == 2 && queue.ahead(of: .critical) == 0)
        #expect(queue.next() == high)
    }

    @Test("a queue behaves like a simple list over ten thousand steps")
    func model() {
        var random = SeededNumbers(seed: 21)
        var queue = WaitingQueue()
        var list: [(number: UInt64, priority: Int)] = []
        var turns = 0
        for _ in 0..<10_000 {
            switch random.next(upTo: 5) {
            case 0, 1, 2:
                let priority = RequestOptions.Priority(rawValue: random.next(upTo: 5))
                list.append((queue.join(priority), priority.rawValue))
            case 3 where !list.isEmpty:
                let index = random.next(upTo: list.count)
                #expect(queue.leave(list[index].number) == true)
                list.remove(at: index)
            default:
                guard !list.isEmpty else { continue }
                turns += 1
                let highest = list.map(\.priority).max()
                let index = turns % 8 == 0 ? 0 : list.firstIndex { $0.priority == highest } ?? 0
                #expect(queue.next() == list[index].number)
                list.remove(at: index)
            }
            #expect(queue.count == list.count)
        }
    }

    @Test("a hundred thousand arrivals and departures behind a waiting request take linear time")
    func churn() {
        var queue = WaitingQueue()
        let first = queue.join(.normal)
        for _ in 0..<100_000 {
            let number = queue.join(.normal)
            queue.leave(number)
        }
        #expect(queue.next() == first)
    }
}
