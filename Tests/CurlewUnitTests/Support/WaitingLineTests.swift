import SeededNumbers
import Testing

@testable import CurlewCore

@Suite("A line of waiting elements")
struct WaitingLineTests {
    private func take(_ line: inout WaitingLine<String>) -> String? {
        guard let place = line.firstPlace else { return nil }
        line.noteTurn()
        return line.remove(at: place)
    }

    @Test("higher levels are first, and equal levels keep their order")
    func levels() {
        var line = WaitingLine<String>()
        for name in ["b0", "d1", "c0", "e4", "a2", "d2"] {
            _ = line.append(name, level: Int(name.suffix(1)) ?? 0)
        }
        _ = line.prepend("z1", level: 1)
        #expect(line.all == ["e4", "a2", "d2", "z1", "d1", "b0", "c0"])
        var order: [String] = []
        while let next = take(&line) { order.append(next) }
        #expect(order == ["e4", "a2", "d2", "z1", "d1", "b0", "c0"])
        #expect(line.isEmpty && line.first == nil)
    }

    @Test("every eighth turn belongs to the element that has waited longest")
    func oldest() {
        var line = WaitingLine<String>()
        _ = line.append("old", level: 0)
        for number in 0..<20 { _ = line.append("\(number)", level: 4) }
        let order = (0..<9).compactMap { _ in take(&line) }
        #expect(order == ["0", "1", "2", "3", "4", "5", "6", "old", "7"])
    }

    @Test("only suitable elements are found, in order")
    func fitting() {
        var line = WaitingLine<Int>()
        for number in 0..<10 { _ = line.append(number, level: number % 2) }
        #expect(line.first { $0 % 3 == 0 } == 3)
        #expect(line.first { $0 % 2 == 0 && $0 > 3 } == 4)
        #expect(line.first { $0 > 10 } == nil)
    }

    @Test("a line with random arrivals and departures equals one with a linear search", arguments: 1...4)
    func random(_ seed: UInt64) {
        var numbers = SeededNumbers(seed: seed)
        var line = WaitingLine<Int>()
        var model: [(element: Int, level: Int, place: Int)] = []
        for step in 0..<5000 {
            let level = Int.random(in: 0..<5, using: &numbers)
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0: model.append((step, level, line.append(step, level: level)))
            case 1: model.insert((step, level, line.prepend(step, level: level)), at: 0)
            default:
                guard let index = model.indices.randomElement(using: &numbers) else { continue }
                let gone = model.remove(at: index)
                #expect(line.remove(at: gone.place) == gone.element)
            }
            #expect(line.count == model.count)
        }
        let expected = (0..<5).reversed().flatMap { level in model.filter { $0.level == level }.map(\.element) }
        #expect(line.all == expected)
    }
}
