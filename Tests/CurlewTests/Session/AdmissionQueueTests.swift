import Testing

@testable import Curlew

@Suite("The queue of a session, without tasks")
struct AdmissionQueueTests {
    private let never = Instant.distantFuture

    private func queue(limit: Int, waiting: Range<Int>) -> AdmissionQueue<Int, Int> {
        var queue = AdmissionQueue<Int, Int>(limit: limit)
        while queue.takePlace() {}
        for number in waiting { queue.append(number, number, until: never) }
        return queue
    }

    @Test("as many tasks begin at once as are allowed, and at least one", arguments: [(3, 3), (1, 1), (0, 1), (-5, 1)])
    func limit(_ limit: Int, _ expected: Int) {
        var queue = AdmissionQueue<Int, Int>(limit: limit)
        var begun = 0
        while queue.takePlace() { begun += 1 }
        #expect(begun == expected)
        #expect(queue.underWay == expected)
    }

    @Test("waiting tasks have their turn in the order in which they came")
    func order() {
        var queue = queue(limit: 1, waiting: 0..<5000)
        #expect(queue.next() == nil)
        var order: [Int] = []
        queue.leave(-1, heldPlace: true)
        while let next = queue.next() {
            order.append(next)
            queue.leave(next, heldPlace: true)
        }
        #expect(order == Array(0..<5000))
        #expect(queue.isEmpty && queue.underWay == 0)
    }

    @Test("a caller that gives up waiting gets no turn, and takes nobody else's")
    func givingUp() {
        var queue = queue(limit: 2, waiting: 0..<3000)
        for number in stride(from: 0, to: 3000, by: 2) { queue.leave(number, heldPlace: false) }
        #expect(queue.count == 1500 && queue.underWay == 2)
        var order: [Int] = []
        queue.leave(-1, heldPlace: true)
        while let next = queue.next() {
            order.append(next)
            // Others come and go meanwhile.
            queue.append(next + 10_000, next + 10_000, until: never)
            queue.leave(next + 10_000, heldPlace: false)
            queue.leave(next, heldPlace: true)
        }
        #expect(order == Array(stride(from: 1, to: 3000, by: 2)))
        #expect(queue.isEmpty && queue.underWay == 1)
    }

    @Test("a queue that has run empty serves again")
    func reuse() {
        var queue = AdmissionQueue<Int, Int>(limit: 1)
        for round in 0..<10 {
            #expect(queue.takePlace() == true)
            queue.append(round, round, until: never)
            #expect(queue.takePlace() == false)
            queue.leave(-1, heldPlace: true)
            #expect(queue.next() == round)
            queue.leave(round, heldPlace: true)
            #expect(queue.isEmpty)
        }
    }

    @Test("waiting tasks whose time is over are named, and the nearest deadline is that of the others")
    func deadlines() {
        var queue = queue(limit: 1, waiting: 0..<0)
        for number in 0..<10 { queue.append(number, number, until: Instant(nanoseconds: Int64(number))) }
        #expect(queue.nearestDeadline == Instant(nanoseconds: 0))
        let overdue = queue.overdue(at: Instant(nanoseconds: 4))
        #expect(overdue == [0, 1, 2, 3, 4])
        for number in overdue { queue.leave(number, heldPlace: false) }
        #expect(queue.nearestDeadline == Instant(nanoseconds: 5))
        for number in 5..<10 { queue.leave(number, heldPlace: false) }
        #expect(queue.nearestDeadline == never)
    }
}
