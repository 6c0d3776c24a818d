import SeededNumbers
import Testing

@testable import Curlew

@Suite("A line of those who wait")
struct WaitingLineTests {
    @Test("the higher priority has its turn first, and among equals who came first")
    func order() {
        var line = WaitingLine()
        let low = line.join(.low)
        let first = line.join(.normal)
        let second = line.join(.normal)
        let critical = line.join(.critical)
        #expect([line.next(), line.next(), line.next(), line.next()] == [critical, first, second, low])
        #expect(line.next() == nil && line.isEmpty)
    }

    @Test("of eight turns one is of who has waited longest, whatever its priority")
    func fairness() {
        var line = WaitingLine()
        let patient = line.join(.background)
        var turns: [UInt64] = []
        for _ in 0..<8 {
            _ = line.join(.critical)
            if let number = line.next() { turns.append(number) }
        }
        #expect(turns.last == patient && turns.filter { $0 == patient }.count == 1)
    }

    @Test("who has left has no turn, and cannot leave twice")
    func leaving() {
        var line = WaitingLine()
        let first = line.join(.normal)
        let second = line.join(.normal)
        #expect(line.leave(first) == true)
        #expect(line.leave(first) == false)
        #expect(line.next() == second)
        #expect(line.leave(second) == false)
    }

    @Test("the oldest of the least priority is dropped, and none for a newcomer of less priority")
    func dropping() {
        var line = WaitingLine()
        let high = line.join(.high)
        #expect(line.dropOldest(below: .normal) == nil)
        let older = line.join(.normal)
        _ = line.join(.normal)
        #expect(line.dropOldest(below: .normal) == older)
        #expect(line.ahead(of: .normal) == 2 && line.ahead(of: .critical) == 0)
        #expect(line.next() == high)
    }

    @Test("a line answers as a plain list does, over ten thousand steps")
    func model() {
        var random = SeededNumbers(seed: 21)
        var line = WaitingLine()
        var list: [(number: UInt64, priority: Int)] = []
        var turns = 0
        for _ in 0..<10_000 {
            switch random.next(upTo: 5) {
            case 0, 1, 2:
                let priority = RequestOptions.Priority(rawValue: random.next(upTo: 5))
                list.append((line.join(priority), priority.rawValue))
            case 3 where !list.isEmpty:
                let index = random.next(upTo: list.count)
                #expect(line.leave(list[index].number) == true)
                list.remove(at: index)
            default:
                guard !list.isEmpty else { continue }
                turns += 1
                let highest = list.map(\.priority).max()
                let index = turns % 8 == 0 ? 0 : list.firstIndex { $0.priority == highest } ?? 0
                #expect(line.next() == list[index].number)
                list.remove(at: index)
            }
            #expect(line.count == list.count)
        }
    }

    @Test("a hundred thousand who come and leave behind one who stays take no time that grows")
    func churn() {
        var line = WaitingLine()
        let first = line.join(.normal)
        for _ in 0..<100_000 {
            let number = line.join(.normal)
            line.leave(number)
        }
        #expect(line.next() == first)
    }
}
