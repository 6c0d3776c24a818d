import Testing

@testable import CurlewWebSockets

@Suite("Close codes and reasons")
struct CloseStatusTests {
    @Test("a close frame may carry the codes of RFC 6455 §7.4 and of IANA's registry")
    func transmissible() {
        let allowed = (0...UInt16.max).filter { CurlewWebSocket.CloseCode(rawValue: $0).isTransmissible }
        #expect(allowed == [1000, 1001, 1002, 1003] + Array(1007...1014) + Array(3000...4999))
    }

    @Test(
        "a status refuses a code that no frame may carry",
        arguments: [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] as [UInt16])
    func reserved(_ code: UInt16) {
        #expect(CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: code)) == nil)
    }

    @Test("a long reason is shortened at the boundary of a scalar")
    func longReason() throws {
        for (reason, count) in [
            (String(repeating: "a", count: 200), 123), (String(repeating: "€", count: 50), 123),
            (String(repeating: "𤭢", count: 40), 120),
        ] {
            let status = try #require(CurlewWebSocket.CloseStatus(.normalClosure, reason: reason))
            #expect(status.reason.utf8.count == count)
            #expect(status.payload.count == count + 2)
            #expect(try CurlewWebSocket.CloseStatus(payload: status.payload) == status)
        }
        let cut = try #require(
            CurlewWebSocket.CloseStatus(.normalClosure, reason: "a" + String(repeating: "€", count: 50)))
        #expect(cut.reason.utf8.count == 121)
    }

    @Test("a status is unchanged after writing and reading")
    func roundTrip() throws {
        let status = try #require(CurlewWebSocket.CloseStatus(.goingAway, reason: "bis später"))
        #expect(try CurlewWebSocket.CloseStatus(payload: status.payload) == status)
        #expect(
            try CurlewWebSocket.CloseStatus(payload: CurlewWebSocket.CloseStatus.withoutCode.payload) == .withoutCode)
    }

    @Test("each invalid close frame has its violation")
    func faults() {
        #expect(throws: WebSocketViolation.closePayloadOfOneByte) { try CurlewWebSocket.CloseStatus(payload: [3]) }
        #expect(throws: WebSocketViolation.invalidCloseCode(1005)) {
            try CurlewWebSocket.CloseStatus(payload: [3, 0xED])
        }
        for reason: [UInt8] in [[0xFF], [0xE2, 0x82]] {
            #expect(throws: WebSocketViolation.invalidCloseReason) {
                try CurlewWebSocket.CloseStatus(payload: [3, 0xE8] + reason)
            }
        }
    }

    @Test("a description has number, meaning and escaped reason")
    func descriptions() throws {
        let status = try #require(CurlewWebSocket.CloseStatus(.goingAway, reason: "a\nb"))
        #expect("\(status)" == #"1001 (going away): "a\nb""#)
        #expect("\(CurlewWebSocket.CloseCode(rawValue: 4001))" == "4001")
    }

    @Test("the status of a violation has its code and its text")
    func violation() {
        let status = CurlewWebSocket.CloseStatus(WebSocketViolation.invalidText)
        #expect(status.code == .invalidPayload)
        #expect(status.reason == "a text message is not UTF-8")
    }
}

@Suite("Equality of texts")
struct TextEqualityTests {
    @Test("texts are equal by their bytes, not by Unicode's equivalence")
    func bytes() {
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        #expect(composed == decomposed)
        #expect(CurlewWebSocket.Message.text(composed) != .text(decomposed))
        #expect(CurlewWebSocket.Message.text("a") != .binary([0x61]))
        #expect(Set([CurlewWebSocket.Message.text(composed), .text(decomposed), .text(composed)]).count == 2)
        #expect(
            CurlewWebSocket.CloseStatus(.goingAway, reason: composed)
                != CurlewWebSocket.CloseStatus(.goingAway, reason: decomposed))
    }
}
