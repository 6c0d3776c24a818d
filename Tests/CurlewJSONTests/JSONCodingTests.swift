import CurlewJSON
import FoundationEssentials
import Testing

@Suite("A JSON dialect")
struct JSONCodingTests {
    struct Sighting: Codable, Sendable, Equatable {
        enum Weather: String, Codable, Sendable { case fair, foul }

        struct Place: Codable, Sendable, Equatable {
            var mapURL: URL?
            var gridX2: Int
        }

        var birdName: String
        var seenAt: Date
        var photoID: UUID
        var rawBytes: Data
        var nestedPlace: Place
        var countsByDay: [String: Int]
        var places: [String: Place]
        var weather: Weather
        var noteText: String?
        var heights: [Double]

        static func example(at date: Date = Date(timeIntervalSince1970: 86_400)) -> Sighting {
            Sighting(
                birdName: "Curlew", seenAt: date, photoID: UUID(uuidString: "11111111-2222-3333-4444-555555555555")!,
                rawBytes: Data([0, 255, 254]),
                nestedPlace: Place(mapURL: URL(string: "https://a.test/m?x=1"), gridX2: -1),
                countsByDay: ["dayOne": 1, "day_two": 2], places: ["theMarsh": Place(mapURL: nil, gridX2: 4)],
                weather: .foul, noteText: nil, heights: [1.5, -0.25])
        }
    }

    static let codings: [JSONCoding] = [
        JSONCoding(), JSONCoding(keys: .snakeCase), JSONCoding(dates: .secondsSince1970),
        JSONCoding(keys: .snakeCase, dates: .millisecondsSince1970, data: .base64URL),
        JSONCoding(dates: .secondsSince2001, data: .base64URL),
        JSONCoding(keys: .snakeCase, dates: .iso8601WithMilliseconds),
    ]

    @Test("every dialect reads its own output", arguments: codings.indices)
    func roundTrip(_ index: Int) throws {
        let coding = Self.codings[index]
        let value = Sighting.example()
        let text = try coding.encode(value)
        #expect(try coding.decode(Sighting.self, from: text) == value)
        #expect(try JSONValue(parsing: text).decode(as: Sighting.self, by: coding) == value)
    }

    @Test("keys of types are renamed, those of dictionaries are not, and abbreviations are restored")
    func snakeCase() throws {
        let text = String(decoding: try JSONCoding(keys: .snakeCase).encode(Sighting.example()), as: UTF8.self)
        for name in ["bird_name", "photo_id", "nested_place", "map_url", "dayOne", "day_two", "theMarsh"] {
            #expect(text.contains("\"\(name)\""), "\(name)")
        }
        enum Event: Codable, Equatable { case userCreated(userID: Int) }
        let coding = JSONCoding(keys: .snakeCase)
        let event = Event.userCreated(userID: 7)
        #expect(try String(decoding: coding.encode(event), as: UTF8.self) == #"{"user_created":{"user_id":7}}"#)
        #expect(try coding.decode(Event.self, from: coding.encode(event)) == event)
    }

    @Test(
        "timestamps of RFC 3339 are read with any offset and fraction",
        arguments: [
            ("1970-01-02T00:00:00Z", 86_400.0), ("1970-01-02t00:00:00.5z", 86_400.5),
            ("1970-01-02T02:00:00+02:00", 86_400),
            ("1970-01-01T23:30:00.25-00:30", 86_400.25), ("2024-02-29T12:00:00Z", 1_709_208_000),
            ("2016-12-31T23:59:60Z", 1_483_228_799), ("1970-01-02 00:00:00Z", 86_400),
        ])
    func timestamps(_ text: String, _ seconds: Double) throws {
        for coding in [JSONCoding(), JSONCoding(keys: .snakeCase)] {
            #expect(
                try coding.decode([Date].self, from: Array("[\"\(text)\"]".utf8)) == [
                    Date(timeIntervalSince1970: seconds)
                ])
        }
    }

    @Test(
        "an invalid timestamp is an error",
        arguments: [
            "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
            "2024-01-01",
            "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00+2:00", "",
            "2024-01-01T00:00:00Zx", "０024-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
        ])
    func noTimestamps(_ text: String) {
        for coding in [JSONCoding(), JSONCoding(keys: .snakeCase)] {
            #expect(throws: DecodingError.self) { try coding.decode([Date].self, from: Array("[\"\(text)\"]".utf8)) }
        }
    }

    @Test("numbers that are not finite are written as text if the dialect has one, and otherwise refused")
    func nonFinite() throws {
        for keys in [JSONCoding.Keys.asWritten, .snakeCase] {
            let coding = JSONCoding(keys: keys, nonFinite: .text(positiveInfinity: "Infinity"))
            let text = try coding.encode([Double.infinity, 1])
            #expect(String(decoding: text, as: UTF8.self) == #"["Infinity",1]"#)
            #expect(try coding.decode([Double].self, from: text) == [.infinity, 1])
            #expect(throws: JSONCoding.Failure.self) { try JSONCoding(keys: keys).encode([Double.nan]) }
        }
    }

    @Test("a custom encoder and decoder replace Curlew's own, under the same reading rules")
    func ownCoders() throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        var coding = JSONCoding(encoder: encoder, decoder: decoder)
        struct Model: Codable, Equatable { var birdName = "x" }
        #expect(try String(decoding: coding.encode(Model()), as: UTF8.self) == #"{"bird_name":"x"}"#)
        #expect(try coding.decode(Model.self, from: coding.encode(Model())) == Model())
        coding.reading.duplicateKeys = .fail
        #expect(throws: JSONCoding.Failure.self) {
            try coding.decode(Model.self, from: Array(#"{"bird_name":"a","bird_name":"b"}"#.utf8))
        }
    }

    @Test("an optional tree keeps the order of members and the text of numbers")
    func optionalTree() throws {
        let text = #"{"b":12345678901234567890123,"a":1}"#
        let value = try JSONCoding().decode(JSONValue?.self, from: Array(text.utf8))
        #expect(value.map { String(decoding: $0.jsonBytes(), as: UTF8.self) } == text)
        #expect(try JSONCoding().decode(JSONValue?.self, from: Array("null".utf8)) == nil)
    }
}
