import Testing

@testable import CurlewCore

@Suite("The byte scanner")
struct ByteReadingTests {
    @Test("a scanner consumes matching bytes, and a copy of it returns to its position")
    func scanner() {
        var scanner = ByteScanner("ab = c".utf8)
        #expect(scanner.take(while: \.isLetter).elementsEqual("ab".utf8))
        let place = scanner
        scanner.skip(while: \.isBlank)
        #expect(scanner.take(.equals) && !scanner.take(.equals))
        scanner = place
        #expect(scanner.next == .space && !scanner.isAtEnd)
        scanner.skip { _ in true }
        #expect(scanner.next == nil && scanner.isAtEnd)
        #expect(scanner.take { _ in true }.isEmpty)
    }

    @Test(
        "a quoted string is unquoted and unescaped, and ends at the end of the value at the latest",
        arguments: [
            ("\"a b\"c", "a b", "c"), ("\"a\\\"b\\\\\"", "a\"b\\", ""), ("\"open", "open", ""),
            ("\"open\\", "open\\", ""),
            ("\"\"", "", ""),
        ])
    func quotedString(_ text: String, _ contents: String, _ rest: String) {
        var scanner = ByteScanner(text.utf8)
        #expect(scanner.takeQuotedString() == Array(contents.utf8))
        #expect(scanner.take { _ in true }.elementsEqual(rest.utf8))
    }

    @Test("a scanner does not consume a text that is not a quoted string")
    func unquoted() {
        var scanner = ByteScanner("a\"b\"".utf8)
        #expect(scanner.takeQuotedString() == nil)
        #expect(scanner.next == UInt8(ascii: "a"))
    }

    @Test(
        "two hexadecimal digits after a percent sign are one byte; otherwise the text is kept, or refused",
        arguments: [
            ("a%20b", "a b", true), ("%41%6a%6A", "Ajj", true), ("100%", "100%", false), ("%4", "%4", false),
            ("%zz%41", "%zzA", false), ("%%41", "%A", false), ("", "", true),
        ])
    func percentDecoding(_ text: String, _ decoded: String, _ isWellFormed: Bool) {
        #expect(PercentDecoding.bytes(of: text, isStrict: false) == Array(decoded.utf8))
        #expect(PercentDecoding.bytes(of: text, isStrict: true) == (isWellFormed ? Array(decoded.utf8) : nil))
    }

    @Test("a scheme ends at its colon, and must begin with a letter")
    func schemes() {
        for (text, length) in [
            ("http://a", 4), ("a+b-c.d:x", 7), ("HTTP:", 4), (":x", nil), ("1a:", nil), ("a/b:c", nil), ("a", nil),
            ("", nil), ("a?b:c", nil),
        ] as [(String, Int?)] {
            #expect(URIParser.schemeEnd(of: text.utf8) == length, "\(text)")
        }
    }

    @Test("a broadcaster reports the end of a listener after it has stopped counting it")
    func listenerEnds() async {
        let broadcaster = Broadcaster<Int>(bufferSize: 1)
        let (ends, ended) = AsyncStream.makeStream(of: Int.self)
        do {
            let stream = broadcaster.listen { [weak broadcaster] in ended.yield(broadcaster?.listenerCount ?? -1) }
            #expect(broadcaster.hasListeners && broadcaster.listenerCount == 1)
            broadcaster.publish(1)
            broadcaster.publish(2)
            var iterator = stream.makeAsyncIterator()
            #expect(await iterator.next() == 2)
        }
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        #expect(!broadcaster.hasListeners)
    }
}
