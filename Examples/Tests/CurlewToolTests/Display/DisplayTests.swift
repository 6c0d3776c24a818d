import Testing

@testable import CurlewTool

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

    @Test("a line has the name, a bar, the amounts, the rate and the time left, and fits the terminal")
    func line() {
        var line = TransferLine(name: "bird.wav", state: .running, count: 512, total: 1024, rate: 256)
        let text = line.text(width: 200)
        #expect(text.contains("bird.wav"))
        #expect(text.contains("████████████░░░░░░░░░░░░ 50 %"))
        #expect(text.contains("512 B of 1.0 KiB  256 B/s  0:02 left"))
        #expect(line.text(width: 40).count == 40)
        line.total = nil
        #expect(!line.text(width: 200).contains("left"))
        line.state = .failed("connection refused")
        #expect(line.text(width: 200).hasSuffix("connection refused"))
    }
}
