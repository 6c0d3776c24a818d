import Testing

@testable import CurlewTool
@testable import TerminalOutput

@Suite("Output of the tool")
struct DisplayTests {
    @Test(
        "an amount of bytes may be written with a unit",
        arguments: [
            ("4096", 4096), ("500k", 512_000), ("2M", 2_097_152), ("1.5GiB", 1_610_612_736), ("1B", 1), ("3KB", 3072),
        ] as [(String, Int64)])
    func amounts(text: String, count: Int64) {
        #expect(Units.count(of: text) == count)
    }

    @Test(
        "a text that is not an amount of bytes is rejected",
        arguments: ["", "k", "-1", "0", "2X", "1.2.3", "1e3", "99999999999G", "٣"])
    func noAmounts(text: String) {
        #expect(Units.count(of: text) == nil)
    }

    @Test(
        "times have the format of a clock",
        arguments: [
            (0.0, "0:00"), (6.2, "0:07"), (754, "12:34"), (10_921, "3:02:01"), (.infinity, "–"), (.nan, "–"),
            (1e12, "–"),
        ] as [(Double, String)])
    func times(seconds: Double, text: String) {
        #expect(Units.clock(seconds: seconds) == text)
    }

    @Test("the rate is measured over the last seconds")
    func rate() {
        var meter = RateMeter()
        let start = ContinuousClock().now
        meter.note(0, at: start)
        #expect(meter.bytesPerSecond == nil)
        meter.note(1000, at: start + .seconds(1))
        #expect(meter.bytesPerSecond == 1000)
        for second in 2...60 { meter.note(1000 + Int64(second) * 10, at: start + .seconds(second)) }
        #expect(meter.bytesPerSecond == 10)
    }

    @Test("the rate meter starts again when the count becomes smaller, and 5,000 notes are read correctly")
    func restart() {
        var meter = RateMeter()
        let start = ContinuousClock().now
        meter.note(5000, at: start)
        meter.note(100, at: start + .seconds(1))
        #expect(meter.bytesPerSecond == nil)
        for step in 1...5000 { meter.note(100 + Int64(step), at: start + .seconds(1) + .microseconds(step)) }
        #expect(meter.bytesPerSecond.map { ($0 - 1e6).magnitude < 1e4 } == true)
    }

    private let running = TransferLine(
        name: "bird-song.wav", state: .running, count: 52_428_800, total: 104_857_600, rate: 1_048_576)

    @Test(
        "a line loses its name, its bar and its figures in this order as the terminal becomes narrower",
        arguments: [
            (
                120,
                "bird-song.wav                ████████████░░░░░░░░░░░░ 50 % 50.0 MiB  1.0 MiB/s  of 100.0 MiB  0:50 left"
            ),
            (80, "bird-song.w… ████████░░░░░░░░ 50 % 50.0 MiB  1.0 MiB/s  of 100.0 MiB  0:50 left"),
            (60, "bird-son… 50 % 50.0 MiB  1.0 MiB/s  of 100.0 MiB  0:50 left"),
            (40, "bird-song.wav  50 % 50.0 MiB  1.0 MiB/s"), (20, "bird… 50 % 50.0 MiB"),
        ])
    func widths(width: Int, text: String) {
        let line = running.text(width: width)
        #expect(line == text)
    }

    @Test("a line fits every terminal, and keeps its amount", arguments: 1...130)
    func fitting(width: Int) {
        for name in ["a", "a-very-long-name-of-a-recording-of-a-bird.wav", "鳥の声鳥の声鳥の声鳥の声鳥の声鳥の声"] {
            var line = running
            line.name = name
            #expect(Columns.width(of: line.text(width: width)) <= max(1, width - 1))
            if width >= 20 { #expect(line.text(width: width).contains("50.0 MiB")) }
            if width >= 24 { #expect(line.text(width: width).contains("50 %")) }
            line.state = .failed("a reason that would not fit")
            #expect(Columns.width(of: line.text(width: width)) <= max(1, width - 1))
            line.state = .waiting
            #expect(Columns.width(of: line.text(width: width)) <= max(1, width - 1))
        }
    }

    @Test("a line without a total has neither a bar nor the time left")
    func withoutTotal() {
        var line = running
        line.total = nil
        #expect(line.text(width: 80) == "bird-song.wav                50.0 MiB  1.0 MiB/s")
    }

    @Test(
        "an error is written in lines that fit the terminal, and in one line elsewhere", arguments: [20, 40, 80, 120])
    func errors(width: Int) {
        let text =
            "connection-refused: could not connect to 127.0.0.1:1: connection refused (GET http://127.0.0.1:1/a-long-path)"
        let wrapped = Messages.errorText(text, width: width, isColored: false)
        #expect(wrapped.split(separator: "\n").allSatisfy { $0.count < width })
        #expect(wrapped.filter { $0 != "\n" && $0 != " " } == "curlew: \(text)".filter { $0 != " " })
        #expect(Messages.errorText(text, width: nil, isColored: false) == "curlew: \(text)\n")
    }

    @Test("lines that a narrower terminal has wrapped are replaced as well")
    func resized() {
        #expect(LiveLines.rows(of: [79, 10, 0], width: 80) == 3)
        #expect(LiveLines.rows(of: [79, 10, 0], width: 40) == 4)
        #expect(LiveLines.rows(of: [], width: 40) == 0)
        // The kernel's terminal writes a carriage return before each line feed.
        let before = String(repeating: "a", count: 79) + "\nb\n"
        let after = before + LiveLines.text(["c"], over: LiveLines.rows(of: [79, 1], width: 40))
        #expect(Screen.lines(after.replacing("\n", with: "\r\n"), width: 40) == ["c"])
    }

    @Test("a terminal with too few lines shows the running transfers and a summary")
    func manyLines() {
        var lines = [TransferLine](repeating: TransferLine(name: "a"), count: 50)
        lines[3].state = .done
        lines[7].state = .running
        let texts = TransferBoard.texts(lines, width: 40, limit: 10, isColored: false)
        #expect(texts == ["a                            0 B", "1 of 50 done, 48 waiting"])
    }

    @Test("wide and combining characters are counted as a terminal counts them")
    func columns() {
        #expect(Columns.width(of: "鳥a") == 3 && Columns.width(of: "e\u{301}") == 1 && Columns.width(of: "🐦") == 2)
        #expect(
            Columns.fitted("鳥鳥鳥", 4) == "鳥… " && Columns.fitted("ab", 4) == "ab  " && Columns.fitted("abc", 2) == "a…")
    }

    @Test("a screen shows what a terminal would")
    func screen() {
        #expect(Screen.lines("ab\r\ncd\u{1B}[1A\r\u{1B}[Jx\n", width: 10) == ["x"])
        #expect(Screen.lines("\u{1B}[31mabcdef\u{1B}[0m", width: 4) == ["abcd", "ef"])
        #expect(Screen.lines("abc\r\u{1B}[Kd", width: 4) == ["d"])
    }

    @Test("counts have their noun in the singular and in the plural")
    func counts() {
        #expect(Units.count(1, "entry", "entries") == "1 entry" && Units.count(0, "entry", "entries") == "0 entries")
    }
}
