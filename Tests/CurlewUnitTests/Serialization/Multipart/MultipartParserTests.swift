import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

@Suite("The parser of multipart bodies", .timeLimit(.minutes(2)))
struct MultipartParserTests {
    typealias Event = MultipartParser.Event

    /// The events of bytes that arrive in chunks, with adjacent body pieces joined.
    private func events(
        _ text: String, boundary: String = "B",
        limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits(),
        pieces: [Int]? = nil
    ) throws -> [Event] {
        var parser = try MultipartParser(boundary: boundary, limits: limits)
        var events: [Event] = []
        func take() throws {
            while let event = try parser.next() {
                if case .body(let bytes) = event, case .body(let before)? = events.last {
                    events[events.count - 1] = .body(before + bytes)
                } else {
                    events.append(event)
                }
            }
        }
        var rest = Array(text.utf8)[...]
        for piece in pieces ?? [rest.count] {
            parser.append(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            try take()
        }
        parser.append(Array(rest))
        parser.finish()
        try take()
        return events
    }

    private func body(_ text: String) -> Event { .body(Array(text.utf8)) }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch { return (error as? CurlewError)?.code }
    }

    private let name = HTTPField.Name("N")!

    @Test("the result does not depend on the chunks of a body")
    func everyCut() throws {
        let text = """
            preamble --B\r
            --Bx\r
            --B \t\r
            N: 1\r
            \r
            a\r--B\r\n-B\n--B\r
            --Boundary\r\n--B-\r\n--B--x\r\n--B \t x\r\n\r\n--b\r
            --B\r
            \r
            --B\r
            \r
            \r
            --B\r
            N: 2\r
            N: 3\r
            \r
            --B\r
            \r
            \r\n\r
            --B-- \r
            --B\r
            N: epilogue\r
            """
        let odd = "a\r--B\r\n-B\n--B\r\n--Boundary\r\n--B-\r\n--B--x\r\n--B \t x\r\n\r\n--b"
        let expected: [Event] = [
            .head([name: "1"]), body(odd), .partEnd, .head([:]), .partEnd, .head([:]), .partEnd,
            .head(HTTPFields([HTTPField(name: name, value: "2"), HTTPField(name: name, value: "3")])), .partEnd,
            .head([:]), body("\r\n"), .partEnd, .end,
        ]
        let count = text.utf8.count
        #expect(try events(text) == expected)
        #expect(try events(text, pieces: Array(repeating: 1, count: count)) == expected)
        for cut in 0...count { #expect(try events(text, pieces: [cut]) == expected, "cut at \(cut)") }
        for width in 2...40 {
            #expect(try events(text, pieces: Array(repeating: width, count: count / width + 1)) == expected, "\(width)")
        }
        for first in 0..<60 {
            for second in 0..<60 { #expect(try events(text, pieces: [first, second]) == expected) }
        }
    }

    @Test("the parser reads the output of a form")
    func roundTrip() async throws {
        var form = MultipartFormData()
        form.append("1\r\n--\(form.boundary.dropLast())", name: "a")
        form.append("", name: "b")
        try form.append(.bytes(Array(0...255)), name: "c", fileName: "c.png")
        let text = try await form.body.bytes()
        var parser = try MultipartParser(boundary: form.boundary)
        parser.append(text)
        parser.finish()
        var bodies: [[UInt8]] = []
        var current: [UInt8] = []
        while let event = try parser.next() {
            if case .body(let bytes) = event { current += bytes }
            if case .partEnd = event {
                bodies.append(current)
                current = []
            }
        }
        #expect(bodies == [Array("1\r\n--\(form.boundary.dropLast())".utf8), [], Array(0...255)])
    }

    @Test("lines with a bare LF are accepted if the first delimiter has one")
    func lineFeeds() throws {
        let text = "x\n--B\nN: 1\n\na\r\nb\n--B\n\n--B\n\n\n--B--\n"
        let expected: [Event] = [
            .head([name: "1"]), body("a\r\nb"), .partEnd, .head([:]), .partEnd, .head([:]), .partEnd, .end,
        ]
        for cut in 0...text.utf8.count { #expect(try events(text, pieces: [cut]) == expected) }
    }

    @Test("mixed line ends are an error among fields, and content elsewhere")
    func mixedLineEnds() throws {
        #expect(code { _ = try events("--B\r\nN: 1\n\nx\r\n--B--") } == .decodingFailed)
        #expect(code { _ = try events("--B\nN: 1\r\n\r\nx\n--B--") } == .decodingFailed)
        #expect(try events("--B\r\n\r\nx\n--B\n\r\n--B--")[1] == body("x\n--B\n"))
    }

    @Test("a body without parts is accepted, and so is one that ends right after its final boundary")
    func ends() throws {
        #expect(try events("--B--") == [.end])
        #expect(try events("x\r\n--B--\r\n") == [.end])
        for end in ["", "\r", "\r\n", " ", "\t \r\n", "\n", "\r\nepilogue\r\n--B\r\n"] {
            #expect(try events("--B\r\n\r\nx\r\n--B--\(end)") == [.head([:]), body("x"), .partEnd, .end])
        }
    }

    @Test(
        "a body that ends before its final boundary is an error, after the complete parts",
        arguments: [
            "", "x", "--", "--B", "--B\r\n", "--B\r\nN: 1", "--B\r\nN: 1\r\n", "--B\r\n\r\n", "--B\r\n\r\nx",
            "--B\r\n\r\nx\r\n", "--B\r\n\r\nx\r\n--B", "--B\r\n\r\nx\r\n--B-", "--B\r\n\r\nx\r\n--B\r\n",
            "--B\r\n\r\nx\r\n--B--x", "--B\r\n\r\nx\r\n--C--", "x--B--", "--B--x",
        ])
    func truncated(_ text: String) throws {
        var parser = try MultipartParser(boundary: "B")
        parser.append(Array(text.utf8))
        parser.finish()
        var events: [Event] = []
        let code = code { while let event = try parser.next() { events.append(event) } }
        #expect(code == .responseTruncated)
        #expect(try parser.next() == nil)
        #expect(!events.contains(.end))
        guard text.hasPrefix("--B\r\n\r\nx") else { return }
        guard events.count > 1, case .body(let bytes) = events[1] else {
            Issue.record("what was there is lost")
            return
        }
        #expect(text.hasPrefix("--B\r\n\r\n" + String(decoding: bytes, as: UTF8.self)))
    }

    @Test("folded fields are joined, spaces around values are removed, other bytes are UTF-8")
    func fields() throws {
        let text = "--B\r\nA:  x\t \r\nb:\r\nC: 1\r\n  2\r\n\t3\r\nD: é:\u{0}\r\n\r\n--B--".replacing(
            "\u{0}", with: ";")
        let expected: HTTPFields = [.init("A")!: "x", .init("B")!: "", .init("C")!: "1 2 3", .init("D")!: "é:;"]
        #expect(try events(text).first == .head(expected))
        // The bytes are not UTF-8, and stay unchanged.
        var parser = try MultipartParser(boundary: "B")
        parser.append(Array("--B\r\nA: ".utf8) + [0xE9, 13, 10, 13, 10])
        guard case .head(let fields)? = try parser.next() else { throw CurlewError(.decodingFailed, "no head") }
        #expect(fields.first?.withUnsafeBytesOfValue { Array($0) } == [0xE9])
    }

    @Test(
        "invalid fields are an error",
        arguments: [
            "no colon", ": no name", "a b: c", "A : b", " folded: first", "A: \u{0}", "A: \u{7f}", "A: b\rc", "é: x",
        ])
    func badFields(_ line: String) {
        #expect(code { _ = try events("--B\r\n\(line)\r\n\r\nx\r\n--B--") } == .decodingFailed)
    }

    @Test("a head has limits of bytes and fields, even without an end")
    func headLimits() throws {
        var limits = CurlewResponse.MultipartParts.Limits()
        limits.headSize = 20
        limits.fieldCount = 2
        let line = "N: 345678901234\r\n"
        #expect(try events("--B\r\n\(line.dropFirst(0))\r\n--B--", limits: limits).count == 3)
        #expect(code { _ = try events("--B\r\n\(line)A:\r\n\r\n\r\n--B--", limits: limits) } == .responseHeadTooLarge)
        #expect(try events("--B\r\na:\r\na:\r\n\r\n--B--", limits: limits).count == 3)
        #expect(code { _ = try events("--B\r\na:\r\na:\r\na:\r\n\r\n--B--", limits: limits) } == .responseHeadTooLarge)
        var parser = try MultipartParser(boundary: "B")
        parser.append(Array("--B\r\n".utf8))
        #expect(try parser.next() == nil)
        let code = code {
            for _ in 0..<20_000 {
                parser.append([0x61])
                _ = try parser.next()
            }
        }
        #expect(code == .responseHeadTooLarge)
    }

    @Test("a delimiter may have at most 256 spaces after it")
    func padding() throws {
        let blanks = String(repeating: " ", count: 256)
        #expect(try events("--B\(blanks)\r\n\r\nx\r\n--B--\(blanks)\r\n").count == 4)
        #expect(try events("--B\r\n\r\nx\r\n--B \(blanks)\r\ny\r\n--B--")[1] == body("x\r\n--B \(blanks)\r\ny"))
    }

    @Test("at most the length of a delimiter is held back for the next chunk")
    func nothingIsHeldBack() throws {
        var parser = try MultipartParser(boundary: "Boundary")
        parser.append(Array("--Boundary\r\n\r\nhello\r\n--Bound".utf8))
        #expect(try parser.next() == .head([:]))
        #expect(try parser.next() == body("hello"))
        #expect(try parser.next() == nil)
        parser.append(Array("!\r".utf8))
        #expect(try parser.next() == body("\r\n--Bound!"))
        #expect(try parser.next() == nil)
        parser.append(Array("x".utf8))
        #expect(try parser.next() == body("\rx"))
        for _ in 0..<1000 {
            parser.append(Array(repeating: 13, count: 1000))
            while try parser.next() != nil {}
            #expect(parser.buffer.count - parser.position <= 1)
        }
    }

    @Test("a preamble of any length uses no memory")
    func longPreamble() throws {
        var parser = try MultipartParser(boundary: "B")
        for _ in 0..<1000 {
            parser.append(Array("-- B\r\n -B-".utf8))
            #expect(try parser.next() == nil)
            #expect(parser.buffer.count - parser.position <= 3)
        }
        parser.append(Array("\n--B--".utf8))
        parser.finish()
        #expect(try parser.next() == .end)
    }

    @Test("the search for the delimiter is fast for every boundary", arguments: ["-", "a"])
    func slowBoundaries(_ end: String) throws {
        // Every position resembles the boundary except for its end, or its start.
        let dashes = [UInt8](repeating: UInt8(ascii: "-"), count: 1 << 20)
        for boundary in [String(repeating: "-", count: 200) + end + "-", String(repeating: "-", count: 201)] {
            var parser = try MultipartParser(boundary: boundary)
            parser.append(dashes)
            #expect(try parser.next() == nil)
            parser.append(Array("\n--\(boundary)\r\n\r\n".utf8) + dashes)
            #expect(try parser.next() == .head([:]))
            #expect(try parser.next() == .body(dashes))
        }
    }

    @Test(
        "a text that is not a valid boundary is refused",
        arguments: ["", "a ", "a\r", "a\0", String(repeating: "b", count: 257)])
    func boundaries(_ boundary: String) {
        #expect(code { _ = try MultipartParser(boundary: boundary) } == .decodingFailed)
    }

    @Test("boundaries of dashes, and those of browsers, are accepted")
    func dashes() throws {
        for boundary in ["-", "--", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "a b", "=_?:()"] {
            let text = "--\(boundary)\r\n\r\n-\r\n-\r\n--\(boundary)\r\n\r\n\r\n--\(boundary)--"
            for cut in 0...text.utf8.count {
                #expect(
                    try events(text, boundary: boundary, pieces: [cut])
                        == [.head([:]), body("-\r\n-"), .partEnd, .head([:]), .partEnd, .end])
            }
        }
    }

    @Test("random bytes never trap, and give the same events in one chunk and in several")
    func random() throws {
        var generator = Xorshift(state: 0x9E37_79B9_7F4A_7C15)
        let alphabet = Array("--BB\r\n\r\n: a\t-\n".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            let text = String(decoding: Array("--B\r\n".utf8) + bytes + Array("\r\n--B--".utf8), as: UTF8.self)
            let cut = Int.random(in: 0...text.utf8.count, using: &generator)
            let whole = Result { try events(text) }
            let pieces = Result { try events(text, pieces: [cut, 1, 1, 1]) }
            switch (whole, pieces) {
            case (.success(let left), .success(let right)): #expect(left == right, "\(text.debugDescription) \(cut)")
            case (.failure(let left), .failure(let right)):
                #expect((left as? CurlewError)?.code == (right as? CurlewError)?.code)
            default: Issue.record("\(text.debugDescription) cut at \(cut)")
            }
        }
    }

    private struct Xorshift: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }
}
