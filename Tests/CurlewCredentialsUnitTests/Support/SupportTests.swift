import Curlew
import Foundation
import Testing

@testable import CurlewCredentials

@Suite("Base 64, times and text")
struct SupportTests {
    @Test("Base 64 agrees with Foundation on every length up to 67")
    func base64() {
        for count in 0..<68 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == text)
            #expect(Base64.decode(text.utf8) == bytes)
            let forURL = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64.encodeForURL(bytes) == forURL)
        }
    }

    @Test(
        "text that is not Base 64 is refused",
        arguments: ["A", "A===", "AA=A", "AAAA====", "AA-_", "A\nAA", "AA=", "====", "="])
    func badBase64(_ text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test("the calendar agrees with Foundation from the year 1 to 9999")
    func calendar() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for step in 0..<4000 {
            let seconds = -12_000_000_000 + Double(step) * 66_000_123
            let date = Date(timeIntervalSince1970: seconds)
            let time = CalendarTime(date)
            #expect(time.date == date)
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            #expect(
                time
                    == CalendarTime(
                        year: try #require(parts.year), month: try #require(parts.month), day: try #require(parts.day),
                        hour: try #require(parts.hour), minute: try #require(parts.minute),
                        second: try #require(parts.second)))
        }
    }

    @Test("dates of fields and of JSON are parsed")
    func times() {
        let moment = Date(timeIntervalSince1970: 784_111_777)
        #expect(TimeText.httpDate("Sun, 06 Nov 1994 08:49:37 GMT") == moment)
        #expect(TimeText.internetDate("1994-11-06T08:49:37Z") == moment)
        #expect(TimeText.internetDate("1994-11-06t09:49:37.123456+01:00") == moment)
        for text in [
            "", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT",
        ] {
            #expect(TimeText.httpDate(text) == nil)
        }
        for text in [
            "1994-11-06", "1994-13-06T08:49:37Z", "1994-11-06T08:49:37", "1994-11-06T08:49:37.Z",
            "1994-11-06T08:49:37+1",
        ] {
            #expect(TimeText.internetDate(text) == nil)
        }
    }

    @Test("text from a peer is shortened to one line within the limit")
    func peerText() {
        #expect(PeerText.escaped("a\r\nb\u{1B}[31m\u{202E}é", limit: 100) == "a\\r\\nb\\u{1B}[31m\\u{202E}é")
        #expect(PeerText.escaped("a\u{61C}b\u{2066}", limit: 100) == "a\\u{61C}b\\u{2066}")
        #expect(PeerText.escaped("abcdef", limit: 3) == "ab…")
        #expect(PeerText.escaped("abc", limit: 3) == "abc")
        #expect(PeerText.escaped("ab\n\n", limit: 5) == "ab\\n…")
        #expect(PeerText.escaped("\n", limit: 1) == "…")
    }
}
