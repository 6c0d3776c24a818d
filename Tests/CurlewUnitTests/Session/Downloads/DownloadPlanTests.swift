import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("The plan of a download")
struct DownloadPlanTests {
    private typealias Plan = DownloadPlan
    private static let validator = ResumeToken.Validator(entityTag: "\"one\"")
    private static let fit: HTTPFields = [.eTag: "\"one\"", .acceptRanges: "bytes"]

    private func plan(segments: Int = 1) -> Plan { Plan(segments: segments, smallestSegment: 10) }

    /// A plan whose full response has begun.
    private func begun(
        _ length: Int64? = 100, fields: HTTPFields = fit, isDecoded: Bool = false, segments: Int = 1
    ) -> Plan {
        var plan = plan(segments: segments)
        plan.confirm()
        plan.begin(Plan.Representation(fields, length: length, isDecoded: isDecoded))
        return plan
    }

    private func receive(_ count: Int, at start: Int64, _ plan: inout Plan) {
        plan.receive(count, in: plan.open(at: start).number)
    }

    /// A plan that continues the download of another process.
    private func restored(_ ranges: [Range<Int64>], total: Int64? = 100, segments: Int = 1) throws -> Plan {
        let token = try ResumeToken(
            uri: CurlewURI("http://a.test/f"), finalURI: nil, validator: try #require(Self.validator), total: total,
            partPath: "/tmp/.f.1.part", destination: nil,
            identity: FileSnapshot(path: "/proc/self/exe"), received: ranges.map { ResumeToken.Received(range: $0) })
        var plan = plan(segments: segments)
        plan.restore(ranges, of: Plan.Representation(token))
        return plan
    }

    private func request(_ wanted: Range<Int64>, total: Int64? = 100) throws -> RangeRequest {
        RangeRequest(wanted: wanted, total: total, validator: try #require(Self.validator))
    }

    private func part(_ range: String, status: HTTPResponse.Status = .partialContent, _ tag: String = "\"one\"")
        -> HTTPResponse
    {
        HTTPResponse(status: status, headerFields: [.contentRange: range, .eTag: tag])
    }

    // MARK: The next step

    @Test("a new download requests the full file, and finishes when all bytes are received")
    func whole() {
        #expect(plan().next == .askForWhole)
        var plan = begun()
        receive(60, at: 0, &plan)
        receive(40, at: 60, &plan)
        #expect(plan.ranges == [0..<100])
        #expect(plan.next == .finish(100))
    }

    @Test("an empty file is complete at the head")
    func empty() { #expect(begun(0).next == .finish(0)) }

    @Test("a file of unknown length is complete when its body ends")
    func unknownLength() {
        var plan = begun(nil)
        receive(60, at: 0, &plan)
        #expect(plan.next == .askForRanges([60..<Int64.max], atATime: 1))
        plan.end(at: 60)
        #expect(plan.next == .finish(60))
    }

    struct Interruption: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var fields = DownloadPlanTests.fit
        var isDecoded = false
        let next: DownloadPlan.Step
    }

    @Test(
        "an interrupted download is resumed if the server supports ranges and has a strong validator",
        arguments: [
            Interruption(testDescription: "fit", next: .askForRanges([60..<100], atATime: 1)),
            Interruption(
                testDescription: "silent about ranges", fields: [.eTag: "\"one\""],
                next: .askForRanges([60..<100], atATime: 1)),
            Interruption(
                testDescription: "no ranges", fields: [.eTag: "\"one\"", .acceptRanges: "none"], next: .askForWhole),
            Interruption(
                testDescription: "weak validator", fields: [.eTag: "W/\"one\"", .acceptRanges: "bytes"],
                next: .askForWhole),
            Interruption(testDescription: "no validator", fields: [.acceptRanges: "bytes"], next: .askForWhole),
            Interruption(testDescription: "decoded", isDecoded: true, next: .askForWhole),
            Interruption(
                testDescription: "coded as it came",
                fields: [.eTag: "\"one\"", .acceptRanges: "bytes", .contentEncoding: "gzip"],
                next: .askForRanges([60..<100], atATime: 1)),
            Interruption(
                testDescription: "too many codings",
                fields: [
                    .eTag: "\"one\"", .contentEncoding: Array(repeating: "gzip", count: 9).joined(separator: ","),
                ],
                next: .askForWhole),
        ])
    func interrupted(_ interruption: Interruption) {
        var plan = begun(fields: interruption.fields, isDecoded: interruption.isDecoded)
        receive(60, at: 0, &plan)
        #expect(plan.next == interruption.next)
    }

    @Test("a download that failed before its first byte is requested from the start")
    func nothingReceived() {
        var plan = begun()
        _ = plan.open(at: 0)
        #expect(plan.next == .askForWhole)
    }

    @Test("a restored download requests its gaps, divided into segments")
    func gaps() throws {
        #expect(
            try restored([0..<20, 60..<70]).next == .askForRanges([20..<60, 70..<100], atATime: 1))
        #expect(
            try restored([0..<20], segments: 4).next
                == .askForRanges([20..<40, 40..<60, 60..<80, 80..<100], atATime: 4))
        #expect(try restored([0..<20], total: nil, segments: 4).next == .askForRanges([20..<Int64.max], atATime: 4))
    }

    @Test("a restored download with all its bytes verifies the last one, and finishes after the answer")
    func verifies() throws {
        var plan = try restored([0..<100])
        let last = try request(99..<100)
        #expect(plan.next == .verify(last))
        let verdict = plan.evaluate(part("bytes 99-99/100"), for: last)
        #expect(verdict == .write(upTo: 100, isTooSmall: false))
        plan.confirm()
        #expect(plan.next == .finish(100))
    }

    @Test("a restored download without bytes requests the full file")
    func restoredEmpty() throws { #expect(try restored([]).next == .askForWhole) }

    // MARK: Segments

    @Test(
        "the file is divided only if the server announces ranges, its length and a strong validator",
        arguments: [
            (100, DownloadPlanTests.fit, 4), (nil, DownloadPlanTests.fit, 1), (100, [.eTag: "\"one\""], 1),
            (100, [.acceptRanges: "bytes"], 1), (100, [.eTag: "\"one\"", .acceptRanges: "none"], 1),
            (100, [.eTag: "\"one\"", .acceptRanges: "records, BYTES"], 4),
        ] as [(Int64?, HTTPFields, Int)])
    func segmentsOfWhole(_ length: Int64?, _ fields: HTTPFields, _ count: Int) {
        let plan = begun(length, fields: fields, segments: 4)
        #expect(plan.segmentsOfWhole.count == count)
        #expect(plan.segmentsOfWhole.first?.lowerBound == 0)
        #expect(plan.segmentsOfWhole.last?.upperBound == length ?? .max)
    }

    @Test(
        "at least one and at most sixteen segments are fetched concurrently",
        arguments: [
            (-1, 1), (0, 1), (1, 1), (16, 16), (17, 16), (Int.max, 16),
        ])
    func limits(_ segments: Int, _ limit: Int) { #expect(plan(segments: segments).segmentLimit == limit) }

    @Test("the missing range of a segment ends at the end of the segment or of the file")
    func missing() {
        var plan = begun()
        let (number, isNew) = plan.open(at: 50)
        #expect(isNew && plan.missing(of: 50..<80, in: number) == 50..<80)
        plan.receive(10, in: number)
        #expect(plan.missing(of: 50..<80, in: number) == 60..<80)
        plan.receive(20, in: number)
        #expect(plan.missing(of: 50..<80, in: number) == nil)
        var endless = begun(nil)
        let first = endless.open(at: 0).number
        endless.receive(30, in: first)
        #expect(endless.missing(of: 0..<Int64.max, in: first) == 30..<Int64.max)
        endless.end(at: 30)
        #expect(endless.missing(of: 0..<Int64.max, in: first) == nil)
    }

    @Test("bytes at the end of a received range extend that range")
    func neighbours() {
        var plan = begun()
        receive(10, at: 0, &plan)
        receive(10, at: 50, &plan)
        for (start, expected, isExpectedNew) in [(10, 0, false), (60, 1, false), (20, 2, true)] as [(Int64, Int, Bool)]
        {
            let (number, isNew) = plan.open(at: start)
            #expect(number == expected && isNew == isExpectedNew)
        }
        #expect(plan.received.ranges == [0..<10, 50..<60] && plan.receivedCount == 20)
    }

    // MARK: Answers

    @Test(
        "the status of the full response determines whether it becomes a file",
        arguments: [
            (200, .accepted), (203, .accepted), (206, .part), (204, .empty), (205, .empty), (304, .refused),
            (404, .refused), (416, .refused), (503, .refused),
        ] as [(Int, DownloadPlan.WholeVerdict)])
    func wholeVerdicts(_ status: Int, _ verdict: DownloadPlan.WholeVerdict) {
        #expect(Plan.evaluate(whole: .init(code: status)) == verdict)
    }

    @Test(
        "the head of a range response determines which bytes are written",
        arguments: [
            (206, "bytes 20-99/100", "\"one\"", .write(upTo: 100, isTooSmall: false)),
            (206, "bytes 20-59/100", "\"one\"", .write(upTo: 60, isTooSmall: true)),
            (206, "bytes 21-99/100", "\"one\"", .restart(.mismatch(.otherRange))),
            (206, "bytes 20-99/101", "\"one\"", .restart(.mismatch(.otherTotal))),
            (206, "bytes 20-99/100", "\"two\"", .restart(.mismatch(.otherRepresentation))),
            (206, "nonsense", "\"one\"", .restart(.mismatch(.unreadable))),
            (200, "", "\"two\"", .restart(.whole)), (416, "bytes */5", "\"one\"", .restart(.mismatch(.unsatisfied))),
            (503, "", "", .refused), (404, "", "", .refused),
        ] as [(Int, String, String, DownloadPlan.RangeVerdict)])
    func rangeVerdicts(_ status: Int, _ range: String, _ tag: String, _ verdict: DownloadPlan.RangeVerdict) throws {
        var plan = try restored([0..<20])
        let wanted = try #require(plan.request(for: 20..<100))
        let found = plan.evaluate(part(range, status: .init(code: status), tag), for: wanted)
        #expect(found == verdict)
    }

    @Test("a part of 64 KiB is large enough, even if it is shorter than requested")
    func largeEnough() throws {
        var plan = try restored([0..<20], total: 1_000_000)
        let wanted = try #require(plan.request(for: 20..<1_000_000))
        let large = plan.evaluate(part("bytes 20-65555/1000000"), for: wanted)
        #expect(large == .write(upTo: 65_556, isTooSmall: false))
        let small = plan.evaluate(part("bytes 20-65554/1000000"), for: wanted)
        #expect(small == .write(upTo: 65_555, isTooSmall: true))
    }

    @Test("an answer provides the unknown length, by its Content-Range or by 416")
    func learnsLength() throws {
        for (head, expected) in [
            (part("bytes 20-99/100"), Plan.RangeVerdict.write(upTo: 100, isTooSmall: false)),
            (part("bytes */20", status: .rangeNotSatisfiable), .complete),
        ] {
            var plan = try restored([0..<20], total: nil)
            let wanted = try #require(plan.request(for: 20..<Int64.max))
            let verdict = plan.evaluate(head, for: wanted)
            #expect(verdict == expected)
            #expect(plan.representation?.total == (expected == .complete ? 20 : 100))
            plan.confirm()
            #expect(plan.next == (expected == .complete ? .finish(20) : .askForRanges([20..<100], atATime: 1)))
        }
    }

    @Test("a range is not requested without a validator")
    func noRequest() {
        #expect(begun(fields: [:]).request(for: 0..<10) == nil)
        #expect(begun().request(for: 0..<10) != nil)
    }

    // MARK: Restarts

    @Test(
        "a download restarts from zero after a rejected answer, with one segment",
        arguments: [.mismatch(.otherRange), .mismatch(.otherTotal), .whole, .overlong, .unverifiable]
            as [DownloadPlan.Restart])
    func restarts(_ restart: DownloadPlan.Restart) throws {
        var plan = try restored([0..<20, 40..<50], segments: 4)
        plan.confirm()
        plan.reject(restart)
        #expect(plan.next == .restart)
        plan.restart()
        #expect(plan.ranges.isEmpty && plan.representation == nil && !plan.isConfirmed)
        #expect(plan.next == .askForWhole && plan.segmentLimit == 1)
        plan.confirm()
        plan.begin(Plan.Representation(Self.fit, length: 100, isDecoded: false))
        #expect(plan.segmentsOfWhole == [0..<100])
    }

    @Test(
        "a server with faulty ranges gets no further range requests, one with a changed file does",
        arguments: [
            (.mismatch(.unreadable), false), (.mismatch(.severalParts), false), (.mismatch(.coded), false),
            (.mismatch(.otherRange), false), (.mismatch(.otherLength), false), (.mismatch(.endless), false),
            (.overlong, false), (.mismatch(.otherTotal), true), (.mismatch(.otherRepresentation), true),
            (.mismatch(.unsatisfied), true), (.whole, true), (.unverifiable, true),
        ] as [(DownloadPlan.Restart, Bool)])
    func avoidsRanges(_ restart: DownloadPlan.Restart, asksAgain: Bool) throws {
        var plan = try restored([0..<20])
        plan.reject(restart)
        plan.restart()
        plan.confirm()
        plan.begin(Plan.Representation(Self.fit, length: 100, isDecoded: false))
        receive(30, at: 0, &plan)
        #expect(plan.next == (asksAgain ? .askForRanges([30..<100], atATime: 1) : .askForWhole))
    }

    @Test("a download restarts three times and then fails, with the last reason")
    func givesUp() throws {
        var plan = try restored([0..<20])
        for _ in 0..<3 {
            plan.reject(.mismatch(.otherTotal))
            #expect(plan.next == .restart)
            plan.restart()
        }
        plan.reject(.mismatch(.otherTotal))
        #expect(
            plan.next
                == .fail(
                    "the download restarted 3 times, and the last response cannot be used: "
                        + "it declares another complete length"))
    }

    @Test("a rejected full response does not count as a restart")
    func wholeIsFree() throws {
        var plan = try restored([0..<20])
        for _ in 0..<10 {
            plan.reject(.whole)
            #expect(plan.next == .restart)
            plan.restart()
        }
        #expect(plan.next == .askForWhole)
    }

    @Test("a full response that begins again discards the received bytes, and is not a restart")
    func forgets() {
        var plan = begun(fields: [:])
        receive(60, at: 0, &plan)
        plan.forget()
        #expect(plan.ranges.isEmpty && plan.next == .askForWhole)
    }
}
