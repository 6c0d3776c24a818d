import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Bodies that arrived completely", .timeLimit(.minutes(1)))
struct WholeBodyTests {
    private func response(_ bytes: [UInt8]) -> CurlewResponse.Body {
        let source = WholeBody(bytes, trailers: [.eTag: "\"a\""])
        return CurlewResponse.Body(storage: .source(source), length: Int64(bytes.count))
    }

    @Test("the body is read once, like a body in pieces")
    func once() async throws {
        let body = response([1, 2, 3])
        #expect(try await body.collect(upTo: .kibibytes(1)) == [1, 2, 3])
        #expect(try await body.collect(upTo: .kibibytes(1)).isEmpty)
        #expect(body.trailers[.eTag] == "\"a\"")
    }

    @Test("an empty body has no chunks")
    func empty() async throws {
        var iterator = response([]).makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test("skipping consumes the bytes")
    func skip() async throws {
        let source = WholeBody([1, 2, 3], trailers: HTTPFields())
        var limit = 10
        #expect(source.skip(&limit))
        #expect(limit == 7)
        #expect(try await source.next() == nil)
    }
}
