import Testing

@testable import CurlewCore

@Suite("The admission queue of a session, without tasks")
struct AdmissionQueueTests {
    private let never = Instant.distantFuture

    /// A full queue, and the positions of the waiting elements.
    private func queue(limit: Int, waiting: Range<Int>) -> (AdmissionQueue<Int>, [Int]) {
        var queue = AdmissionQueue<Int>(limit: limit)
        while queue.beginAtOnce() {}
        let places = waiting.map { queue.append($0, .normal, until: never) }
        return (queue, places)
    }

    @Test("the allowed number of tasks starts at once, and at least one", arguments: [(3, 3), (1, 1), (0, 1), (-5, 1)])
    func limit(_ limit: Int, _ expected: Int) {
        var queue = AdmissionQueue<Int>(limit: limit)
        var begun = 0
        while queue.beginAtOnce() { begun += 1 }
        #expect(begun == expected)
        #expect(queue.underWay == expected)
    }

    @Test("waiting tasks start in the order of their arrival")
    func order() {
        var (queue, _) = queue(limit: 1, waiting: 0..<5000)
        #expect(queue.next() == nil)
        var order: [Int] = []
        queue.noteEnd()
        while let next = queue.next() {
            order.append(next)
            queue.noteEnd()
        }
        #expect(order == Array(0..<5000))
        #expect(queue.isEmpty && queue.underWay == 0)
    }

    @Test("a cancelled waiter gets no turn, and takes no other's turn")
    func givingUp() {
        var (queue, places) = queue(limit: 2, waiting: 0..<3000)
        for number in stride(from: 0, to: 3000, by: 2) { queue.withdraw(at: places[number]) }
        #expect(queue.count == 1500 && queue.underWay == 2)
        var order: [Int] = []
        queue.noteEnd()
        while let next = queue.next() {
            order.append(next)
            // Other elements arrive and leave meanwhile.
            let place = queue.append(next + 10_000, .normal, until: never)
            queue.withdraw(at: place)
            queue.noteEnd()
        }
        #expect(order == Array(stride(from: 1, to: 3000, by: 2)))
        #expect(queue.isEmpty && queue.underWay == 1)
    }

    @Test("an emptied queue works again")
    func reuse() {
        var queue = AdmissionQueue<Int>(limit: 1)
        for round in 0..<10 {
            #expect(queue.beginAtOnce() == true)
            _ = queue.append(round, .normal, until: never)
            #expect(queue.beginAtOnce() == false)
            queue.noteEnd()
            #expect(queue.next() == round)
            queue.noteEnd()
            #expect(queue.isEmpty)
        }
    }

    @Test("expired waiting tasks are returned, and the nearest deadline is that of the others")
    func deadlines() {
        var (queue, _) = queue(limit: 1, waiting: 0..<0)
        let places = (0..<10).map { queue.append($0, .normal, until: Instant(nanoseconds: Int64($0))) }
        #expect(queue.nearestDeadline == Instant(nanoseconds: 0))
        let overdue = queue.overdue(at: Instant(nanoseconds: 4))
        #expect(overdue == [0, 1, 2, 3, 4])
        for number in overdue { queue.withdraw(at: places[number]) }
        #expect(queue.nearestDeadline == Instant(nanoseconds: 5))
        for number in 5..<10 { queue.withdraw(at: places[number]) }
        #expect(queue.nearestDeadline == never)
    }
}
