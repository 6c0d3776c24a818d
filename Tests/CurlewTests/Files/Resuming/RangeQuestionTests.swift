import HTTPTypes
import Testing

@testable import Curlew

@Suite("Questions for ranges, and what comes back")
struct RangeQuestionTests {
    private func question(_ wanted: Range<Int64>, total: Int64? = 1000) throws -> RangeQuestion {
        RangeQuestion(
            wanted: wanted, total: total, validator: try #require(RepresentationValidator(entityTag: "\"a\"")))
    }

    private func judge(
        _ question: RangeQuestion, status: Int = 206, _ range: String?, _ more: HTTPFields = [:]
    ) -> RangeQuestion.Verdict {
        var fields: HTTPFields = [.eTag: "\"a\""]
        fields[.contentRange] = range
        for field in more { fields[field.name] = field.value }
        return question.judge(HTTPResponse(status: .init(code: status), headerFields: fields))
    }

    @Test("a part in the middle is asked for with both ends, the rest with its beginning alone")
    func asks() throws {
        for (wanted, total, field) in [
            (100..<200, 1000, "bytes=100-199"), (100..<1000, 1000, "bytes=100-"), (7..<Int64.max, nil, "bytes=7-"),
        ] as [(Range<Int64>, Int64?, String)] {
            var fields = HTTPFields()
            try question(wanted, total: total).ask(in: &fields)
            #expect(fields[.range] == field)
            #expect(fields[.ifRange] == "\"a\"")
        }
    }

    @Test("a part that begins where it should is taken, a shorter one too")
    func parts() throws {
        let question = try question(100..<200)
        #expect(judge(question, "bytes 100-199/1000") == .part(100..<200, total: 1000))
        #expect(judge(question, "bytes 100-149/1000") == .part(100..<150, total: 1000))
        #expect(judge(question, "bytes 100-199/*") == .part(100..<200, total: 1000))
        #expect(judge(question, "bytes 100-199/1000", [.contentLength: "100"]) == .part(100..<200, total: 1000))
        #expect(judge(question, "bytes 100-199/1000", [.contentEncoding: "identity"]) == .part(100..<200, total: 1000))
        let open = try self.question(100..<Int64.max, total: nil)
        #expect(judge(open, "bytes 100-199/200") == .part(100..<200, total: 200))
    }

    @Test(
        "what does not fit is told apart",
        arguments: [
            (nil, [:], .unreadable), ("bytes 100-199/100", [:], .unreadable), ("bytes */1000", [:], .unreadable),
            ("bytes 99-199/1000", [:], .otherRange), ("bytes 101-199/1000", [:], .otherRange),
            ("bytes 0-199/1000", [:], .otherRange), ("bytes 100-200/1000", [:], .otherRange),
            ("bytes 100-199/1001", [:], .otherTotal), ("bytes 100-199/999", [:], .otherTotal),
            ("bytes 100-199/1000", [.eTag: "\"b\""], .otherRepresentation),
            ("bytes 100-199/1000", [.eTag: "W/\"a\""], .otherRepresentation),
            ("bytes 100-199/1000", [.contentEncoding: "gzip"], .coded),
            ("bytes 100-199/1000", [.contentEncoding: "unheard-of"], .coded),
            ("bytes 100-199/1000", [.contentLength: "99"], .otherLength),
            ("bytes 100-199/1000", [.contentType: "multipart/byteranges; boundary=a"], .severalParts),
            (nil, [.contentType: "Multipart/Byteranges; boundary=a"], .severalParts),
        ] as [(String?, HTTPFields, RangeQuestion.Misfit)])
    func misfits(_ range: String?, _ fields: HTTPFields, _ misfit: RangeQuestion.Misfit) throws {
        #expect(judge(try question(100..<200), range, fields) == .misfit(misfit))
    }

    @Test("without a total from anybody there is no end to a part")
    func endless() throws {
        #expect(judge(try question(100..<Int64.max, total: nil), "bytes 100-199/*") == .misfit(.endless))
    }

    @Test("the whole, a refusal, and a range that there is not")
    func others() throws {
        let question = try question(1000..<Int64.max, total: nil)
        #expect(judge(question, status: 200, nil) == .whole)
        #expect(judge(question, status: 503, nil) == .refused)
        #expect(judge(question, status: 304, nil) == .refused)
        #expect(judge(question, status: 416, "bytes */1000") == .complete)
        #expect(judge(question, status: 416, "bytes */1000", [.eTag: "\"b\""]) == .misfit(.unsatisfied))
        #expect(judge(question, status: 416, "bytes */999") == .misfit(.unsatisfied))
        #expect(judge(question, status: 416, nil) == .misfit(.unsatisfied))
        #expect(judge(try self.question(500..<1000), status: 416, "bytes */500") == .misfit(.unsatisfied))
    }
}
