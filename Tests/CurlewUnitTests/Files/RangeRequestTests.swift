import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Range requests and their responses")
struct RangeRequestTests {
    private func request(_ wanted: Range<Int64>, total: Int64? = 1000) throws -> RangeRequest {
        RangeRequest(
            wanted: wanted, total: total, validator: try #require(ResumeToken.Validator(entityTag: "\"a\"")))
    }

    private func evaluate(
        _ request: RangeRequest, status: Int = 206, _ range: String?, _ more: HTTPFields = [:]
    ) -> RangeRequest.Verdict {
        var fields: HTTPFields = [.eTag: "\"a\""]
        fields[.contentRange] = range
        for field in more { fields[field.name] = field.value }
        return request.evaluate(HTTPResponse(status: .init(code: status), headerFields: fields))
    }

    @Test("a range in the middle of a file is requested with both ends, the last range only with its beginning")
    func asks() throws {
        for (wanted, total, field) in [
            (100..<200, 1000, "bytes=100-199"), (100..<1000, 1000, "bytes=100-"), (7..<Int64.max, nil, "bytes=7-"),
        ] as [(Range<Int64>, Int64?, String)] {
            var fields = HTTPFields()
            try request(wanted, total: total).apply(to: &fields)
            #expect(fields[.range] == field)
            #expect(fields[.ifRange] == "\"a\"")
        }
    }

    @Test("a part that begins at the requested byte is accepted, even if shorter")
    func parts() throws {
        let request = try request(100..<200)
        #expect(evaluate(request, "bytes 100-199/1000") == .part(100..<200, total: 1000))
        #expect(evaluate(request, "bytes 100-149/1000") == .part(100..<150, total: 1000))
        #expect(evaluate(request, "bytes 100-199/*") == .part(100..<200, total: 1000))
        #expect(evaluate(request, "bytes 100-199/1000", [.contentLength: "100"]) == .part(100..<200, total: 1000))
        #expect(
            evaluate(request, "bytes 100-199/1000", [.contentEncoding: "identity"]) == .part(100..<200, total: 1000))
        let open = try self.request(100..<Int64.max, total: nil)
        #expect(evaluate(open, "bytes 100-199/200") == .part(100..<200, total: 200))
    }

    @Test(
        "each kind of mismatch between request and response has its own reason",
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
        ] as [(String?, HTTPFields, RangeRequest.Mismatch)])
    func mismatches(_ range: String?, _ fields: HTTPFields, _ mismatch: RangeRequest.Mismatch) throws {
        #expect(evaluate(try request(100..<200), range, fields) == .mismatch(mismatch))
    }

    @Test("a part of an encoded body must have the coding of the existing bytes")
    func codings() throws {
        var request = try request(100..<200)
        request.codings = ["gzip"]
        let part = RangeRequest.Verdict.part(100..<200, total: 1000)
        for (coding, verdict) in [
            ("gzip", part), ("GZip, identity", part), ("br", .mismatch(.coded)), ("gzip, gzip", .mismatch(.coded)),
            ("identity", .mismatch(.coded)), ("", .mismatch(.coded)),
        ] as [(String, RangeRequest.Verdict)] {
            #expect(evaluate(request, "bytes 100-199/1000", [.contentEncoding: coding]) == verdict, "\(coding)")
        }
        #expect(evaluate(request, "bytes 100-199/1000") == .mismatch(.coded))
    }

    @Test("a part with an unknown total is a mismatch")
    func endless() throws {
        #expect(evaluate(try request(100..<Int64.max, total: nil), "bytes 100-199/*") == .mismatch(.endless))
    }

    @Test("a 200 is complete, an error status is a refusal, and a 416 is success only if total and validator match")
    func others() throws {
        let request = try request(1000..<Int64.max, total: nil)
        #expect(evaluate(request, status: 200, nil) == .whole)
        #expect(evaluate(request, status: 503, nil) == .refused)
        #expect(evaluate(request, status: 304, nil) == .refused)
        #expect(evaluate(request, status: 416, "bytes */1000") == .complete)
        #expect(evaluate(request, status: 416, "bytes */1000", [.eTag: "\"b\""]) == .mismatch(.unsatisfied))
        #expect(evaluate(request, status: 416, "bytes */999") == .mismatch(.unsatisfied))
        #expect(evaluate(request, status: 416, nil) == .mismatch(.unsatisfied))
        #expect(evaluate(try self.request(500..<1000), status: 416, "bytes */500") == .mismatch(.unsatisfied))
    }
}
