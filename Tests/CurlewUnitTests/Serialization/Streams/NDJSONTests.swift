import Curlew
import TestHelpers
import Testing

@Suite("Newline-delimited JSON", .timeLimit(.minutes(1)))
struct NDJSONTests {
    struct Reading: Codable, Sendable, Equatable { var n: Int }

    private func read(_ body: CurlewResponse.Body, upTo limit: ByteSize = 100) async throws -> [Int] {
        var numbers: [Int] = []
        for try await reading in body.ndjson(as: Reading.self, upTo: limit) { numbers.append(reading.n) }
        return numbers
    }

    @Test("each line is a value, however the body is split into chunks", arguments: 1...12)
    func lines(size: Int) async throws {
        let text = "{\"n\":1}\n{\"n\":2}\r\n\n  \n{\"n\":3}"
        #expect(try await read(chunkedBody(pieces(of: Array(text.utf8), size: size))) == [1, 2, 3])
    }

    @Test("a body without lines has no values", arguments: ["", "\n", "\r\n\r\n", " \n "])
    func empty(_ text: String) async throws {
        #expect(try await read(.bytes(Array(text.utf8))) == [])
    }

    @Test("a byte order mark at the beginning is not part of the first line")
    func mark() async throws {
        #expect(try await read(.bytes(Array("\u{FEFF}{\"n\":1}\n{\"n\":2}\n".utf8))) == [1, 2])
    }

    @Test("an invalid line is an error with its number, and the next line can be read")
    func brokenLine() async throws {
        let body = CurlewResponse.Body.bytes(Array("{\"n\":1}\n{\"n\":\n{\"n\":3}\nnull".utf8))
        var iterator = body.ndjson(as: Reading.self).makeAsyncIterator()
        #expect(try await iterator.next() == Reading(n: 1))
        let error = await curlewError { _ = try await iterator.next() }
        #expect(error?.code == .decodingFailed)
        #expect(error?.message.contains("line 2") == true)
        #expect(try await iterator.next() == Reading(n: 3))
        #expect(await curlewError { _ = try await iterator.next() }?.message.contains("line 4") == true)
        #expect(try await iterator.next() == nil)
    }

    @Test("a line beyond the limit ends the sequence, even without a line end", arguments: [true, false])
    func longLine(ends: Bool) async throws {
        let long = "{\"n\":\(String(repeating: " ", count: 100))2}" + (ends ? "\n{\"n\":3}\n" : "")
        let body = chunkedBody(pieces(of: Array(("{\"n\":1}\n" + long).utf8), size: 7))
        var iterator = body.ndjson(as: Reading.self, upTo: 50).makeAsyncIterator()
        #expect(try await iterator.next() == Reading(n: 1))
        #expect(await curlewError { _ = try await iterator.next() }?.code == .responseTooLarge)
        #expect(try await iterator.next() == nil)
    }

    @Test("a body that breaks off is an error after the complete values")
    func broken() async throws {
        let body = chunkedBody([Array("{\"n\":1}\n{\"n\":2}".utf8)], then: CurlewError(.responseTruncated, "cut"))
        var iterator = body.ndjson(as: Reading.self).makeAsyncIterator()
        #expect(try await iterator.next() == Reading(n: 1))
        #expect(await curlewError { _ = try await iterator.next() }?.code == .responseTruncated)
        #expect(try await iterator.next() == nil)
    }
}
