import CurlewTesting
import HTTPTypes
import Testing
import ThreadWork

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The cost of folded field lines", .timeLimit(.minutes(2)))
struct FoldedFieldTests {
    private static let fieldLine = "A: \(String(repeating: "v", count: 90_000))\r\n"

    @Test("80,000 folded lines of a long value are read in linear time", arguments: [false, true])
    func manyFolds(areTrailers: Bool) throws {
        var limits = CurlewResponse.Limits()
        limits.fieldCount = 60_000
        var parser = HeadParser(limits: limits, cache: ResponseHeadCache())
        if areTrailers { take(&parser, ["HTTP/1.1 200 OK\r\n", "\r\n"]) }
        let time = processorTime {
            if !areTrailers { take(&parser, ["HTTP/1.1 200 OK\r\n"]) }
            take(&parser, [Self.fieldLine])
            take(&parser, Array(repeating: " \n", count: 59_999))
        }
        #expect(time < .seconds(2))
        let fields = areTrailers ? parser.takeFields() : try #require(head(&parser)).headerFields
        #expect(fields[HTTPField.Name("A")!]?.utf8.count == 90_000 + 59_999)
    }

    @Test("folded lines count towards the field limit, in heads, interim heads and trailers")
    func foldLimit() {
        var limits = CurlewResponse.Limits()
        limits.fieldCount = 4
        let beginnings = [
            ["HTTP/1.1 200 OK"],
            ["HTTP/1.1 103 Early Hints", "A: b", " c", " d", " e", "", "HTTP/1.1 200 OK"],
            ["HTTP/1.1 200 OK", "A: b", " c", ""],
        ]
        for beginning in beginnings {
            var parser = HeadParser(limits: limits, cache: ResponseHeadCache())
            let lines = beginning + ["T: 1", "\tb", "U: 1", " "]
            #expect(take(&parser, lines.map { "\($0)\r\n" }) == nil, "\(beginning)")
            #expect(take(&parser, [" \r\n"]) == .responseHeadTooLarge, "\(beginning)")
        }
    }

    @Test("a folded value is joined before a field, the end of the head, or the end of the trailers")
    func joins() throws {
        let names = ["A", "B"].compactMap { HTTPField.Name($0) }
        var parser = HeadParser(limits: CurlewResponse.Limits(), cache: ResponseHeadCache())
        take(&parser, ["HTTP/1.1 200 OK", "A: 1", "  2 ", "B: 3", "\t4", " 5"].map { "\($0)\r\n" })
        let response = try #require(head(&parser))
        #expect(names.map { response.headerFields[$0] } == ["1 2", "3 4 5"])
        take(&parser, ["A: 1\r\n", " 2\r\n"])
        #expect(parser.takeFields()[names[0]] == "1 2")
    }

    @Test("an endless head of folded lines is refused, and the session stays usable")
    func overSocket() async throws {
        for answer in [
            "HTTP/1.1 200 OK\r\n\(Self.fieldLine)\(String(repeating: " \n", count: 40_000))Content-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n"
                + String(repeating: " \r\n", count: 40_000) + "\r\n",
        ] {
            let server = try await rawAnswer(answer)
            let session = try makeSession()
            let result = await Task { try await session.get(.raw(server.url())).body.collect(upTo: 10) }.result
            let isOfTrailers = answer.contains("chunked")
            if Engine.versionNumber >= 0x081200, !isOfTrailers {
                // libcurl from 8.18 on joins the folded lines of a head itself, and keeps one space of them.
                #expect(try result.get().isEmpty)
            } else {
                let error = #expect(throws: CurlewError.self) { try result.get() }
                let code = Engine.versionNumber < 0x081200 ? ErrorCode.responseHeadTooLarge : .invalidResponse
                #expect(error?.code == code)
            }
            try await session.expectUsable()
        }
    }

    /// Passes lines to the parser until one is rejected.
    /// - Returns: The code of the rejection.
    @discardableResult
    private func take(_ parser: inout HeadParser, _ lines: [String]) -> ErrorCode? {
        for line in lines {
            if case .invalid(let code, _) = Array(line.utf8).withUnsafeBytes({ parser.take($0) }) { return code }
        }
        return nil
    }

    private func head(_ parser: inout HeadParser) -> HTTPResponse? {
        guard case .head(let response) = Array("\r\n".utf8).withUnsafeBytes({ parser.take($0) }) else { return nil }
        return response
    }
}
