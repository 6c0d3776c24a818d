import CurlewJSON
import Foundation
import Testing

/// RFC 8259 §6: implementations differ for numbers beyond the range of IEEE 754 doubles.
@Suite("Numbers of JSON beyond the range of Double")
struct JSONRangeTests {
    private static let beyond = [
        "1e400", "-1e400", "1E+309", "1.8e308", "-1.8e308", "17976931348623159e292", "1e99999999999999999999",
        "1" + String(repeating: "0", count: 309), "0.00001e315", "9" + String(repeating: "9", count: 400) + ".5",
        "-" + String(repeating: "9", count: 310), "0." + String(repeating: "0", count: 50) + "1e400",
    ]
    private static let within = [
        "1e308", "-1e308", "1.7976931348623157e308", "17976931348623157e292", "0e400", "-0e999999999999", "0.0e400",
        "1e-400", "0." + String(repeating: "0", count: 400) + "1e400", "1" + String(repeating: "0", count: 308),
        "1" + String(repeating: "0", count: 2000) + "e-2000", "0." + String(repeating: "0", count: 2000) + "1e2001",
        "1e-99999999999999999999",
    ]

    private func options(_ outOfRange: JSONCoding.ReadingOptions.OutOfRangeNumbers) -> JSONCoding.ReadingOptions {
        var options = JSONCoding.ReadingOptions.anyValue
        options.outOfRange = outOfRange
        return options
    }

    @Test("a number beyond the range of Double is an error with its position, for trees and types", arguments: beyond)
    func failure(_ number: String) {
        let text = Array("{\n \"a\": [1, \(number)]}".utf8)
        let expected = "a number is beyond the range of Double, at line 2, column 11"
        let tree = #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: text) }
        #expect(tree?.code == .decodingFailed && tree?.description == expected)
        let value = #expect(throws: JSONCoding.Failure.self) {
            try JSONCoding().decode([String: [Double]].self, from: text)
        }
        #expect(value?.description == expected)
        // The error is independent of the requested type, and occurs for unused numbers too.
        let other = #expect(throws: JSONCoding.Failure.self) {
            try JSONCoding().decode([String: [String]].self, from: text)
        }
        #expect(other?.description == expected)
        #expect(throws: JSONCoding.Failure.self) { try JSONCoding().decode(Int.self, from: Array(number.utf8)) }
    }

    @Test("a number within the range of Double is read, and one that is too small is zero", arguments: within)
    func success(_ number: String) throws {
        let expected = try #require(Double(number))
        #expect(expected.isFinite)
        #expect(try JSONCoding().decode(Double.self, from: Array(number.utf8)).bitPattern == expected.bitPattern)
        #expect(try JSONValue(parsing: Array(number.utf8)).doubleValue == expected)
    }

    @Test("the option infinity reads the number as infinite, and writes its original digits", arguments: beyond)
    func infinity(_ number: String) throws {
        let coding = JSONCoding(reading: options(.infinity))
        let expected = number.hasPrefix("-") ? -Double.infinity : .infinity
        #expect(try coding.decode([Double].self, from: Array("[\(number)]".utf8)) == [expected])
        #expect(try coding.decode([Float].self, from: Array("[\(number)]".utf8)) == [Float(expected)])
        let value = try JSONValue(parsing: Array(number.utf8), options: options(.infinity))
        #expect(value.doubleValue == expected && value.description == number)
        #expect(try value.decode(as: Double.self, by: coding) == expected)
        #expect(throws: DecodingError.self) { try coding.decode(Int.self, from: Array(number.utf8)) }
    }

    @Test("the option keep preserves the text of the number, and a Double of it is an error", arguments: beyond)
    func keep(_ number: String) throws {
        let coding = JSONCoding(reading: options(.keep))
        let value = try JSONValue(parsing: Array(number.utf8), options: options(.keep))
        #expect(value.numberValue?.isBig == true && value.doubleValue == nil && value.description == number)
        #expect(throws: DecodingError.self) { try coding.decode(Double.self, from: Array(number.utf8)) }
        #expect(throws: DecodingError.self) { try coding.decode(Float.self, from: Array(number.utf8)) }
    }

    @Test("infinity and NaN are not written, unless the coding has a text for them")
    func writing() throws {
        for value in [Double.infinity, -.infinity, .nan] {
            let error = #expect(throws: JSONCoding.Failure.self) { try JSONCoding().encode(["a": [1, value]]) }
            #expect(error?.code == .encodingFailed && error?.description.contains("a[1]") == true)
            #expect(JSONValue.Number(value) == nil)
        }
    }

    @Test("an infinite number is not a date")
    func date() {
        let coding = JSONCoding(dates: .secondsSince1970, reading: options(.infinity))
        #expect(throws: DecodingError.self) { try coding.decode(Stamp.self, from: Array("{\"at\": 1e400}".utf8)) }
    }

    @Test("long numbers are checked in linear time")
    func time() throws {
        let digits = String(repeating: "1", count: 1 << 20)
        for text in [digits, "0.\(digits)e999999", "[" + String(repeating: "1e400,", count: 1 << 18) + "1]"] {
            #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: Array(text.utf8)) }
            _ = try JSONValue(parsing: Array(text.utf8), options: options(.infinity))
        }
    }
}

private struct Stamp: Decodable { let at: Date }
