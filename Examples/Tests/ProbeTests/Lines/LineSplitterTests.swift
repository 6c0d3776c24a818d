import Testing

@testable import Probe

@Suite("Splitting bytes into lines")
struct LineSplitterTests {
    private func split(_ text: String, limit: Int = 10, pieces size: Int) -> [InputLine] {
        var splitter = LineSplitter(limit: limit)
        var lines: [InputLine] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            splitter.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let line = splitter.next() { lines.append(line) }
        }
        if let line = splitter.last() { lines.append(line) }
        return lines
    }

    private func line(_ text: String) -> InputLine { .line(Array(text.utf8)) }

    private func tooLong(_ text: String) -> InputLine { .tooLong(beginning: Array(text.utf8)) }

    @Test("the lines do not depend on the chunks in which the bytes arrive", arguments: [1, 2, 3, 7, 100])
    func pieces(_ size: Int) {
        #expect(split("one\n\ntwo\r\nthree", pieces: size) == ["one", "", "two\r", "three"].map(line))
        #expect(split("one\n", pieces: size) == [line("one")])
        #expect(split("", pieces: size).isEmpty)
    }

    @Test(
        "a line at the limit is complete, a longer line is truncated, and the line after it is read correctly",
        arguments: [1, 4, 11, 100])
    func limit(_ size: Int) {
        #expect(split("0123456789\nx\n", pieces: size) == [line("0123456789"), line("x")])
        let lines = split("0123456789a\nx\n0123456789b", pieces: size)
        #expect(lines == [tooLong("0123456789a"), line("x"), tooLong("0123456789b")])
    }

    @Test("only the beginning of an overlong line is kept")
    func bounded() {
        var splitter = LineSplitter(limit: 10_000)
        for _ in 0..<100 {
            splitter.append([UInt8](repeating: 0x61, count: 1000))
            #expect(splitter.next() == nil)
        }
        splitter.append([0x0A])
        let kept = [UInt8](repeating: 0x61, count: LineSplitter.beginningSize)
        #expect(splitter.next() == .tooLong(beginning: kept))
    }
}
