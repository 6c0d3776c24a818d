import CurlewJSON
import FoundationEssentials
import Testing

/// The code of the article "JSON by itself".
@Suite("The code of the article on JSON")
struct JSONSnippets {
    struct Bird: Codable {
        var latinName: String
        var seenAt: Date
    }

    func written(_ birds: [Bird]) throws -> [UInt8] {
        let coding = JSONCoding(keys: .snakeCase, dates: .iso8601)
        return try coding.encode(birds)  // [{"latin_name":"Numenius arquata","seen_at":"1970-01-02T00:00:00Z"}]
    }

    func read(_ text: [UInt8]) throws -> [Bird] {
        let coding = JSONCoding(keys: .snakeCase, dates: .iso8601)
        return try coding.decode([Bird].self, from: text)
    }

    func eggs(_ text: [UInt8]) throws -> Int? {
        let value = try JSONValue(parsing: text)
        return value["nests"]?[0]?["eggs"]?.intValue
    }

    func place(_ text: [UInt8]) -> String? {
        do {
            _ = try JSONValue(parsing: text)
            return nil
        } catch let error as JSONCoding.Failure {
            return error.position.map { "\(error.reason): line \($0.line), column \($0.column)" }
        } catch {
            return nil
        }
    }

    @Test("a value is written and read back")
    func types() throws {
        let text = try written([Bird(latinName: "Numenius arquata", seenAt: Date(timeIntervalSince1970: 86_400))])
        let expected = #"[{"latin_name":"Numenius arquata","seen_at":"1970-01-02T00:00:00Z"}]"#
        #expect(String(decoding: text, as: UTF8.self) == expected)
        #expect(try read(text).map(\.latinName) == ["Numenius arquata"])
    }

    @Test("a value is read from a tree, and a position from an error")
    func trees() throws {
        #expect(try eggs(Array(#"{"nests": [{"eggs": 4}]}"#.utf8)) == 4)
        #expect(place(Array("[1,\n 2 3]".utf8)) == "an array lacks a comma or its end: line 2, column 4")
        #expect(place(Array("[]".utf8)) == nil)
    }
}
