import SeededNumbers
import Testing

@testable import CurlewWebSockets

@Suite("UTF-8 in pieces")
struct UTF8ValidatorTests {
    /// True if the validator accepts the pieces as a complete text.
    private func judge(_ pieces: [[UInt8]]) -> Bool {
        var validator = UTF8Validator()
        for piece in pieces {
            guard validator.accepts(piece.span.bytes) else { return false }
        }
        return validator.isComplete
    }

    @Test("each scalar is valid")
    func scalars() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var validator = UTF8Validator()
            let bytes = Array(UTF8.encode(scalar)!) + Self.padding
            guard validator.accepts(bytes.span.bytes), validator.isComplete else {
                Issue.record("\(value)")
                return
            }
        }
    }

    /// ASCII after a scalar. It makes the validator read eight bytes at a time.
    private static let padding = [UInt8](repeating: 0x61, count: 8)

    @Test("two bytes have the result of the standard library", arguments: [[], padding] as [[UInt8]])
    func pairs(_ end: [UInt8]) {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let bytes = [first, second] + end
                let isValid = String(validating: bytes, as: UTF8.self) != nil
                if judge([bytes]) != isValid { Issue.record("\(bytes)") }
            }
        }
    }

    @Test("three or four bytes have the result of the standard library", arguments: [[], padding] as [[UInt8]])
    func longScalars(_ end: [UInt8]) {
        // These bytes are the first and last valid values of second, third and fourth bytes, and their neighbours.
        let bounds: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for first in UInt8(0xC0)...UInt8.max {
            for second in bounds {
                for third in bounds {
                    for fourth in [[]] + bounds.map({ [$0] }) {
                        let bytes = [first, second, third] + fourth + end
                        let isValid = String(validating: bytes, as: UTF8.self) != nil
                        if judge([bytes]) != isValid { Issue.record("\(bytes)") }
                    }
                }
            }
        }
    }

    @Test("random bytes in any pieces have the result of the standard library")
    func randomBytes() {
        var numbers = SeededNumbers(seed: 11)
        let parts: [[UInt8]] =
            ["a", "é", "€", "𤭢", "abcdefghij"].map { Array($0.utf8) } + [[0x80], [0xE2, 0x82], [0xED, 0xA0]]
        for _ in 0..<5000 {
            var bytes: [UInt8] = []
            for _ in 0..<numbers.next(upTo: 12) {
                // Invalid parts are rare, so half of the texts are valid.
                let isSound = numbers.next(upTo: 12) > 0
                bytes += parts[isSound ? numbers.next(upTo: 5) : 5 + numbers.next(upTo: 3)]
            }
            let isValid = String(validating: bytes, as: UTF8.self) != nil
            for pieces in Pieces.all(of: bytes, seed: numbers.next()) { #expect(judge(pieces) == isValid) }
        }
    }

    @Test("an error is found at its first byte")
    func failFast() {
        for testCase in UTF8Case.all where !testCase.isValid {
            // The longest prefix of the bytes that a valid text can begin with.
            let longest = (0...testCase.bytes.count).last { count in
                let start = Array(testCase.bytes[..<count])
                let ends: [[UInt8]] = [
                    [], [0x80], [0xA0], [0x90], [0x80, 0x80], [0xA0, 0x80], [0x90, 0x80], [0x90, 0x80, 0x80],
                    [0x80, 0x80, 0x80],
                ]
                return ends.contains { String(validating: start + $0, as: UTF8.self) != nil }
            }
            for count in 0...testCase.bytes.count {
                var validator = UTF8Validator()
                let start = Array(testCase.bytes[..<count])
                #expect(validator.accepts(start.span.bytes) == (count <= longest ?? 0), "\(testCase.id), \(count)")
            }
        }
    }
}
