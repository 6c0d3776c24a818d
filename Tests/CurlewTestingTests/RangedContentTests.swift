import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@Suite("RangedContent")
struct RangedContentTests {
    private let content = RangedContent(
        Array("0123456789".utf8), entityTag: "\"a\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")

    private func get(_ range: String?, _ condition: String? = nil, method: HTTPRequest.Method = .get) -> MockResponse {
        var fields = HTTPFields()
        fields[.range] = range
        fields[.ifRange] = condition
        return content.response(method: method, fields: fields)
    }

    @Test("a request without a range is answered with the full representation, its entity tag and Accept-Ranges")
    func whole() {
        let response = get(nil)
        #expect(response.status == .ok && response.fields[.acceptRanges] == "bytes")
        #expect(response.fields[.eTag] == "\"a\"" && response.fields[.contentRange] == nil)
    }

    @Test(
        "a request for a range is answered with this range",
        arguments: [
            ("bytes=0-", "0-9"), ("bytes=3-5", "3-5"), ("bytes=3-100", "3-9"), ("bytes=-4", "6-9"),
            ("bytes=-99", "0-9"),
            ("Bytes=9-9", "9-9"),
        ])
    func parts(_ range: String, _ found: String) {
        let response = get(range)
        #expect(response.status == .partialContent && response.fields[.contentRange] == "bytes \(found)/10")
    }

    @Test("a range beyond the end is answered with 416", arguments: ["bytes=10-", "bytes=10-20", "bytes=-0"])
    func unsatisfied(_ range: String) {
        let response = get(range)
        #expect(response.status == .rangeNotSatisfiable && response.fields[.contentRange] == "bytes */10")
    }

    @Test("an invalid range, several ranges and other methods are answered with the full representation")
    func others() {
        for range in ["bytes=5-3", "bytes=a-b", "bytes=", "bytes=-", "bytes=1-2,4-5", "items=0-1"] {
            #expect(get(range).status == .ok, "\(range)")
        }
        #expect(get("bytes=1-2", method: .head).status == .ok)
    }

    @Test("a condition matches only an identical strong entity tag or date")
    func conditions() {
        #expect(get("bytes=1-2", "\"a\"").status == .partialContent)
        #expect(get("bytes=1-2", "Sun, 06 Nov 1994 08:49:37 GMT").status == .partialContent)
        #expect(get("bytes=1-2", "\"b\"").status == .ok)
        #expect(get("bytes=1-2", "Sun, 06 Nov 1994 08:49:38 GMT").status == .ok)
        var weak = content
        weak.entityTag = "W/\"a\""
        let fields: HTTPFields = [.range: "bytes=1-2", .ifRange: "W/\"a\""]
        #expect(weak.response(method: .get, fields: fields).status == .ok)
    }
}
