import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Cases of the Autobahn test suite, 1.* to 7.*")
struct AutobahnTests {
    @Test("an echo answers each case as Autobahn expects", arguments: AutobahnCase.all)
    func answers(_ testCase: AutobahnCase) throws {
        for role in [WebSocketRole.client, .server] {
            let bytes = testCase.frames.flatMap { $0.masked(to: role).bytes }
            for pieces in Pieces.all(of: bytes) {
                var connection = EchoConnection(role: role)
                for piece in pieces { try connection.receive(piece) }
                let frames = try #require(PlainFrame.all(in: connection.output))
                #expect(frames.allSatisfy { ($0.mask != nil) == (role == .client) })
                check(frames, testCase)
            }
        }
    }

    private func check(_ frames: [PlainFrame], _ testCase: AutobahnCase) {
        var frames = frames
        for index in frames.indices { frames[index].mask = nil }
        guard let code = testCase.closeCode else {
            #expect(frames == testCase.replies)
            return
        }
        #expect(frames.dropLast() == testCase.replies[...])
        #expect(frames.last?.opcode == 8)
        #expect(frames.last?.payload.prefix(2) == [UInt8(code >> 8), UInt8(code & 0xFF)])
    }

    @Test("invalid text is refused before the end of its frame, 6.4.3 and 6.4.4", arguments: [(11, 15), (12, 13)])
    func failFast(accepted: Int, refused: Int) throws {
        let text: [UInt8] = UTF8Case.kosme + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8)
        let frame = PlainFrame(1, text).bytes
        var connection = EchoConnection(role: .client)
        try connection.receive(Array(frame[..<(2 + accepted)]))
        #expect(connection.output.isEmpty)
        try connection.receive(Array(frame[(2 + accepted)..<(2 + refused)]))
        let frames = try #require(PlainFrame.all(in: connection.output))
        #expect(frames.map { Array($0.payload.prefix(2)) } == [[0x03, 0xEF]])
    }

    @Test("text is valid or refused with 1007, 6.5 to 6.23", arguments: UTF8Case.all)
    func text(_ testCase: UTF8Case) throws {
        let bytes = PlainFrame(1, testCase.bytes).bytes
        for pieces in Pieces.all(of: bytes) {
            let transcript = Transcript(of: pieces, role: .client)
            if testCase.isValid {
                let text = try #require(String(validating: testCase.bytes, as: UTF8.self))
                #expect(transcript == Transcript([.message(.text(text))]))
            } else {
                #expect(transcript == Transcript(violation: .invalidText))
                #expect(WebSocketViolation.invalidText.closeCode == .invalidPayload)
            }
        }
    }
}
