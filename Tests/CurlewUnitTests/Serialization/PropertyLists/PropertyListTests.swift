import Curlew
import Foundation
import HTTPTypes
import Testing

@Suite("Parameters as property lists")
struct PropertyListTests {
    private func xml(_ value: ParameterValue) throws -> String {
        String(decoding: try value.propertyList(), as: UTF8.self)
    }

    struct Sample: Codable, Equatable {
        var name = "<a> & \"b\" 'c' é \u{1F426}"
        var count = -5
        var big = UInt64.max
        var ratio = 0.1
        var small: Float = 1.1
        var infinite = [Double.infinity, -.infinity]
        var flags = [true, false]
        var none: [Int] = []
        var nothing: [String: Int] = [:]
        var nested = ["z": ["y": [1]], "a": [:]]
        var date = Date(timeIntervalSince1970: 1_700_000_000)
        var data = Data(0...200)
        var deeper = [["data": [Data(0...200)]]]
        var url = URL(string: "https://example.com/?q=1")
        var decimal = Decimal(string: "0.1")
        var set: Set<Int> = [3]
    }

    @Test("the XML equals that of Foundation's encoder")
    func asFoundation() throws {
        var sample = Sample()
        // Foundation writes single precision with excess digits.
        sample.small = 1.5
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        let expected = String(decoding: try encoder.encode(sample), as: UTF8.self)
        let request = try PropertyListRequestSerializer().serialize(
            sample, into: CurlewRequest(.post, "http://a.test/"))
        #expect(String(decoding: try request.bytes(), as: UTF8.self) == expected)
    }

    @Test(
        "Foundation's decoder reads both formats",
        arguments: [
            (PropertyListRequestSerializer.Format.xml, PropertyListSerialization.PropertyListFormat.xml),
            (.binary, .binary),
        ])
    func readAgain(
        _ format: PropertyListRequestSerializer.Format, _ expected: PropertyListSerialization.PropertyListFormat
    )
        throws
    {
        let serializer = PropertyListRequestSerializer(format: format)
        let request = try serializer.serialize(Sample(), into: CurlewRequest(.post, "http://a.test/"))
        var found = PropertyListSerialization.PropertyListFormat.openStep
        let read = try PropertyListDecoder().decode(Sample.self, from: Data(request.bytes()), format: &found)
        #expect(read == Sample())
        #expect(found == expected)
    }

    @Test("line ends and tabs survive; characters that XML does not allow are refused")
    func characters() throws {
        let text = "a\r\nb\rc\nd\te"
        let bytes = try ParameterValue.dictionary([text: .string(text)]).propertyList()
        #expect(try PropertyListDecoder().decode([String: String].self, from: Data(bytes)) == [text: text])
        for scalar in ["\u{0}", "\u{1}", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}"] {
            let error = #expect(throws: CurlewError.self) { try xml(["k": ["a", .string(scalar)]]) }
            #expect(error?.code == .encodingFailed)
            #expect(error?.message.contains("k[1]") == true)
            #expect(throws: CurlewError.self) { try xml([scalar: 1]) }
            let binary = try ParameterValue.dictionary([scalar: .string(scalar)]).propertyList(.binary)
            #expect(try PropertyListDecoder().decode([String: String].self, from: Data(binary)) == [scalar: scalar])
        }
    }

    @Test("null is an error with its path", arguments: [PropertyListRequestSerializer.Format.xml, .binary])
    func null(_ format: PropertyListRequestSerializer.Format) {
        let error = #expect(throws: CurlewError.self) {
            try ParameterValue.dictionary(["a": [1, ["b": nil]]]).propertyList(format)
        }
        #expect(error?.code == .encodingFailed)
        #expect(error?.message.contains("a[1].b") == true)
    }

    @Test("the top level must be a dictionary or an array", arguments: ["a", 1, nil, true] as [ParameterValue])
    func top(_ value: ParameterValue) {
        #expect(throws: CurlewError.self) { try xml(value) }
    }

    @Test("nesting, dates and sizes have limits")
    func bounds() throws {
        var value: ParameterValue = 1
        for _ in 0..<128 { value = [value] }
        #expect(try !xml(value).isEmpty)
        #expect(throws: CurlewError.self) { try xml([value]) }
        #expect(throws: CurlewError.self) { try ParameterValue.array([value]).propertyList(.binary) }
        #expect(throws: CurlewError.self) { try xml([.date(Date(timeIntervalSince1970: 1e15))]) }
        for format: PropertyListRequestSerializer.Format in [.xml, .binary] {
            #expect(throws: CurlewError.self) {
                try ParameterValue.array([.date(Date(timeIntervalSince1970: .nan))]).propertyList(format)
            }
        }
        let huge = try #require(ParameterValue.Number(decimal: "1e400"))
        #expect(try xml([.number(huge)]).contains("<real>1e400</real>"))
        #expect(throws: CurlewError.self) { try ParameterValue.array([.number(huge)]).propertyList(.binary) }
    }
}
