import CurlewJSON

/// Reads and writes JSON with the product CurlewJSON, and fails for an unexpected result.
@main
struct JSONAlone {
    struct Bird: Codable, Equatable {
        var latinName: String
        var eggs: [Int]
    }

    struct Mismatch: Error {}

    static func main() throws {
        let coding = JSONCoding(keys: .snakeCase)
        let bird = Bird(latinName: "Numenius arquata", eggs: [4, 3])
        let text = try coding.encode(bird)
        guard String(decoding: text, as: UTF8.self) == #"{"latin_name":"Numenius arquata","eggs":[4,3]}"#,
            try coding.decode(Bird.self, from: text) == bird,
            try JSONValue(parsing: text)["eggs"]?[1]?.intValue == 3
        else { throw Mismatch() }
        do {
            _ = try JSONValue(parsing: Array("[1,\n 2 3]".utf8))
            throw Mismatch()
        } catch let error as JSONCoding.Failure {
            print("an error has its place:", error)
        }
    }
}
