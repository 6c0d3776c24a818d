import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Content-Range")
struct ContentRangeTests {
    @Test(
        "a Content-Range with a range, a total, or both is parsed",
        arguments: [
            ("bytes 0-99/1234", 0..<100, 1234), ("bytes 5-5/6", 5..<6, 6), ("BYTES 0-0/1", 0..<1, 1),
            ("bytes 0-99/*", 0..<100, nil), ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
            ("bytes 9223372036854775806-9223372036854775806/*", 9_223_372_036_854_775_806..<Int64.max, nil),
        ] as [(String, Range<Int64>?, Int64?)])
    func reads(_ text: String, _ range: Range<Int64>?, _ total: Int64?) throws {
        let read = try ContentRange(text)
        #expect(read.range == range)
        #expect(read.total == total)
    }

    @Test(
        "a malformed Content-Range is an error",
        arguments: [
            "", "bytes", "bytes ", "bytes 0-99", "bytes 0-99/", "bytes 5-4/10", "bytes 0-10/10", "bytes 0-9/9",
            "bytes -5/10", "bytes 5-/10", "bytes */*", "bytes */", "bytes=0-99/1234", "bytes: 0-99/1234",
            "bytes  0-9/10", "bytes\t0-9/10", "items 0-9/10", "bytes 0-9/10 ", " bytes 0-9/10", "bytes 0 - 9/10",
            "bytes +1-9/10", "bytes 1-+9/10", "bytes 0x1-9/10", "bytes 0-9/1e3", "bytes 0-9,20-29/100", "bytes 0-0/0",
            "bytes 9223372036854775807-9223372036854775807/*", "bytes 0-9223372036854775807/*",
            "bytes 0-99999999999999999999/*", "bytes 0-9/99999999999999999999", "bytes ٠-٩/10",
        ])
    func refuses(_ text: String) {
        #expect(throws: CurlewError.self) { try ContentRange(text) }
    }

    @Test("a missing Content-Range is an error, and so are several ones, even equal ones")
    func several() throws {
        var fields = HTTPFields()
        #expect(throws: CurlewError.self) { try ContentRange(fields) }
        fields.append(HTTPField(name: .contentRange, value: "bytes 0-1/2"))
        #expect(try ContentRange(fields).range == 0..<2)
        fields.append(HTTPField(name: .contentRange, value: "bytes 0-1/2"))
        #expect(throws: CurlewError.self) { try ContentRange(fields) }
    }
}
