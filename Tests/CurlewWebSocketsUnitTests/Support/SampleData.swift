import SeededNumbers

@testable import CurlewWebSockets

/// The kinds of data that Autobahn compresses: JSON, a picture, a text in German, HTML, and random bytes.
enum SampleData: CaseIterable {
    case json
    case bitmap
    case prose
    case html
    case random

    var kind: CurlewWebSocket.Message.Kind {
        switch self {
        case .bitmap, .random: .binary
        case .json, .prose, .html: .text
        }
    }

    /// At least `count` bytes of text, or exactly `count` bytes of binary data. Text is valid UTF-8.
    func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var numbers = SeededNumbers(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < count { append(to: &bytes, &numbers) }
        return kind == .binary ? Array(bytes.prefix(count)) : bytes
    }

    private func append(to bytes: inout [UInt8], _ numbers: inout SeededNumbers) {
        switch self {
        case .json:
            let number = numbers.next(upTo: 1_000_000)
            bytes += Array(#"{"id":\#(number),"name":"item \#(number % 97)","tags":["a","b"]},"#.utf8)
        case .bitmap:
            let level = numbers.next(upTo: 256)
            for index in 0..<64 { bytes.append(UInt8((level + index / 8) & 0xFF)) }
        case .prose:
            let words = [
                "Habe", "nun,", "ach!", "Philosophie,", "Juristerei", "und", "Medizin,", "studiert,", "heißem",
                "Bemühn.",
            ]
            bytes += Array("\(words[numbers.next(upTo: words.count)]) ".utf8)
        case .html:
            bytes += Array("<li class=\"entry\"><a href=\"/\(numbers.next(upTo: 999))\">Über</a></li>\n".utf8)
        case .random:
            let number: UInt64 = numbers.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
    }
}
