import CLibcurl
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("A checked request, without a session")
struct PreparedRequestTests {
    /// The field lines for libcurl, and those for a proxy.
    private func lines(_ list: FieldList?) -> [String] {
        var lines: [String] = []
        var node = list?.head
        while let current = node {
            lines.append(String(cString: current.pointee.data))
            node = current.pointee.next
        }
        return lines
    }

    @Test("the transport sets the length and the transfer coding of a body")
    func framing() throws {
        let known = try AttemptStage.prepared(.post, body: .string("abc"))
        #expect(known.contentLength == 3)
        #expect(lines(known.fields) == ["Expect:"])
        let unknown = try AttemptStage.prepared(.post, body: .once(AsyncStream<[UInt8]> { $0.finish() }))
        #expect(unknown.contentLength == nil)
        #expect(lines(unknown.fields) == ["Expect:", "Transfer-Encoding: chunked"])
        #expect(lines(try AttemptStage.prepared(.post).fields) == ["Content-Length: 0"])
        #expect(try AttemptStage.prepared(.get).fields == nil)
    }

    @Test("a request with an expectation has a second list of fields, without the expectation")
    func expectation() throws {
        let prepared = try AttemptStage.prepared(
            .put, body: .string("x"),
            change: { request in
                request.fields[.accept] = "*/*"
                request.options.expectContinue = .seconds(2)
            })
        #expect(prepared.expectContinue == .seconds(2))
        #expect(lines(prepared.fields) == ["Expect: 100-continue", "Accept: */*"])
        #expect(lines(prepared.fieldsWithoutExpectation) == ["Expect:", "Accept: */*"])
    }

    @Test("trailers are announced, and the body is sent chunked over HTTP/1.1")
    func trailers() throws {
        let prepared = try AttemptStage.prepared(
            .put, body: .string("x"),
            change: { request in
                request.trailers[.eTag] = "\"a\""
            })
        #expect(prepared.contentLength == nil && prepared.version == .http11)
        #expect(lines(prepared.trailers) == ["ETag: \"a\""])
        #expect(lines(prepared.fields).contains("Trailer: ETag"))
        #expect(throws: CurlewError.self) {
            try AttemptStage.prepared(.put, body: .string("x"), change: { $0.trailers[.contentLength] = "1" })
        }
    }

    @Test("an empty value keeps its field")
    func emptyValue() throws {
        let prepared = try AttemptStage.prepared(change: { $0.fields[.accept] = "" })
        #expect(lines(prepared.fields) == ["Accept;"])
    }
}
