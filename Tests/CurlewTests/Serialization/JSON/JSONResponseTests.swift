import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@Suite("JSON responses", .endsServers, .timeLimit(.minutes(1)))
struct JSONResponseTests {
    struct Reading: Codable, Sendable, Equatable {
        var stationName: String
        var takenAt: Date
    }

    @Test("a serializer has its own dialect")
    func configuration() async throws {
        let serializer = JSONResponseSerializer<Reading>(
            coding: JSONCoding(keys: .snakeCase, dates: .secondsSince1970))
        let text = #"{"station_name": "Wangerooge", "taken_at": 86400}"#
        let expected = Reading(stationName: "Wangerooge", takenAt: Date(timeIntervalSince1970: 86400))
        try await withThrowingTaskGroup(of: Reading.self) { group in
            for _ in 0..<20 { group.addTask { try await serializer.serialize(stubResponse(text)) } }
            for try await reading in group { #expect(reading == expected) }
        }
    }

    @Test("a JSON response is read as a tree for JSONValue")
    func tree() async throws {
        let value = try await JSONResponseSerializer<JSONValue>().serialize(stubResponse(#"{"a": [1]}"#))
        #expect(value == ["a": [1]])
    }

    @Test(
        "strictness, depth, encoding and duplicates are checked before Foundation reads the text",
        arguments: [
            #"{"a": 1,}"#, #"{"a": 01}"#, #"{"a": 1} x"#, #"{"a": "\ud800"}"#, #"{"a": 1e400}"#, #"{"a": 1"#, "3",
        ])
    func strict(_ text: String) async throws {
        let error = await curlewError {
            _ = try await JSONResponseSerializer<[String: Double]>().serialize(stubResponse(text))
        }
        #expect(error?.code == .decodingFailed)
        #expect(error?.body == Array(text.utf8))
        #expect(error?.underlying != nil)
    }

    @Test("100,000 levels are an error for models too")
    func depth() async throws {
        struct Nested: Decodable, Sendable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd { _ = try container.decode(Nested.self) }
            }
        }
        let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        let error = await curlewError { _ = try await JSONResponseSerializer<Nested>().serialize(stubResponse(text)) }
        #expect((error?.underlying as? CurlewError)?.message.contains("nested more than 512") == true)
    }

    @Test("invalid UTF-8 is an error, UTF-16 is read")
    func encodings() async throws {
        let serializer = JSONResponseSerializer<[String: String]>()
        let invalid = Array("{\"a\": \"".utf8) + [0xFF] + Array("\"}".utf8)
        #expect(
            await curlewError { _ = try await serializer.serialize(stubResponse(bytes: invalid)) }?.code
                == .decodingFailed)
        let wide = #"{"a": "é"}"#.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        #expect(try await serializer.serialize(stubResponse(bytes: wide)) == ["a": "é"])
    }

    @Test("the rule for duplicates applies to models and trees alike")
    func duplicates() async throws {
        let text = #"{"a": 1, "a": 2}"#
        var serializer = JSONResponseSerializer<[String: Int]>()
        #expect(try await serializer.serialize(stubResponse(text)) == ["a": 1])
        serializer.options.duplicateKeys = .lastWins
        #expect(try await serializer.serialize(stubResponse(text)) == ["a": 2])
        serializer.options.duplicateKeys = .fail
        #expect(await curlewError { _ = try await serializer.serialize(stubResponse(text)) }?.code == .decodingFailed)
    }

    @Test("every digit of a number reaches the decoder, under each rule for duplicates and nulls")
    func exactDigits() async throws {
        var serializer = JSONResponseSerializer<[String: Decimal]>()
        let exact = try #require(Decimal(string: "12345678901234.567"))
        let text = #"{"a": 12345678901234.567, "b": null}"#
        for rule in [JSONCoding.ReadingOptions.DuplicateKeys.firstWins, .lastWins, .fail] {
            serializer.options.duplicateKeys = rule
            let plain = #"{"a": 12345678901234.567}"#
            #expect(try await serializer.serialize(stubResponse(plain)) == ["a": exact])
            serializer.options.removesKeysWithNullValues = true
            #expect(try await serializer.serialize(stubResponse(text)) == ["a": exact])
            serializer.options.removesKeysWithNullValues = false
        }
        let value = try JSONValue(parsing: Array("[12345678901234.567, 12345678901234.566]".utf8))
        #expect(try value.decode(as: [Decimal].self)[0] == exact)
        #expect(value.description == "[12345678901234.567,12345678901234.566]")
        // Both numbers have the same nearest double.
        #expect(value[0] == value[1] && value[0]?.hashValue == value[1]?.hashValue)
    }

    @Test("null members are removed before a model is decoded")
    func nulls() async throws {
        var serializer = JSONResponseSerializer<[String: [Int]]>()
        let text = #"{"a": [1, null, 2], "b": null}"#
        #expect(await curlewError { _ = try await serializer.serialize(stubResponse(text)) }?.code == .decodingFailed)
        serializer.options.removesKeysWithNullValues = true
        #expect(try await serializer.serialize(stubResponse(text)) == ["a": [1, 2]])
    }

    @Test(
        "an empty body, or one of spaces, is nil or NoContent for these types, and otherwise an error",
        arguments: ["", " ", "\r\n"])
    func empty(_ text: String) async throws {
        #expect(try await JSONResponseSerializer<[Int]?>().serialize(stubResponse(.noContent, text)) == nil)
        #expect(try await JSONResponseSerializer<NoContent>().serialize(stubResponse(text)) == NoContent())
        let error = await curlewError { _ = try await JSONResponseSerializer<[Int]>().serialize(stubResponse(text)) }
        #expect(error?.code == .emptyBody)
        #expect(error?.response?.status == .ok)
        var strict = JSONResponseSerializer<[Int]?>()
        strict.emptyBodyStatuses = .withoutContent
        #expect(try await strict.serialize(stubResponse(.resetContent, text)) == nil)
        #expect(await curlewError { _ = try await strict.serialize(stubResponse(text)) }?.code == .emptyBody)
        #expect(try await strict.serialize(stubResponse("[1]")) == [1])
    }

    @Test("a body beyond the limit of the call or the session is an error")
    func limit() async throws {
        var serializer = JSONResponseSerializer<[Int]>()
        serializer.acceptance.bodyLimit = 10
        let error = await curlewError { _ = try await serializer.serialize(stubResponse("[1,2,3,4,5,6]")) }
        #expect(error?.code == .responseTooLarge)
        #expect(error?.response?.status == .ok)
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "application/json"], body: "[1,2,3,4,5,6]")
        }
        let session = try makeSession { $0.limits.collectedBody = 12 }
        let url = server.url()
        #expect(await curlewError { _ = try await session.get(.raw(url), as: [Int].self) }?.code == .responseTooLarge)
        serializer.acceptance.bodyLimit = 100
        #expect(try await session.get(.raw(url), as: serializer).count == 6)
    }

    @Test("Accept lists the serializer's types unless the call sets it", .noLeaks)
    func accept() async throws {
        let server = try await MockServer.start { request in
            MockResponse(
                fields: [.contentType: "application/json"], body: "{\"accept\": \"\(request.fields[.accept] ?? "-")\"}")
        }
        let session = try makeSession(baseURL: server.url())
        let serializer = JSONResponseSerializer<[String: String]>()
        #expect(try await session.get("", as: serializer) == ["accept": "application/json"])
        #expect(try await session.get("", as: serializer, fields: [.accept: "a/b"]) == ["accept": "a/b"])
        let text = try await session.post("", .body(.string("x")), as: .text)
        #expect(text == "{\"accept\": \"*/*\"}")
        #expect(try await session.put("", .body(.string("x")), as: .bytes) == Array(text.utf8))
        #expect(try await session.patch("", .body(.string("x")), as: .json(JSONValue.self)) != nil)
        #expect(try await session.delete("", as: .json(NoContent?.self)) == NoContent())
    }

    /// A value that records on decoding if it happened on a loop.
    struct Place: Decodable, Sendable {
        @TaskLocal static var loop: CurlewEventLoop?

        var isOnLoop: Bool

        init(from decoder: any Decoder) throws {
            isOnLoop = Self.loop?.isIsolatingCurrentContext() == true
        }
    }

    @Test("a large body is not decoded on the event loop, even for a caller that runs there", .noLeaks)
    func offLoop() async throws {
        let server = try await MockServer.start { request in
            let size = request.path == "/large" ? 100_000 : 10
            let text = "{\"padding\": \"\(String(repeating: "x", count: size))\"}"
            return MockResponse(fields: [.contentType: "application/json"], body: .string(text))
        }
        let session = try makeSession(baseURL: server.url())
        let loop = try #require(session.session?.eventLoop)
        let places = try await Place.$loop.withValue(loop) {
            try await withTaskExecutorPreference(loop) {
                let small = try await session.get("small", as: Place.self)
                let large = try await session.get("large", as: Place.self)
                return [small.isOnLoop, large.isOnLoop]
            }
        }
        #expect(places == [true, false])
    }

    private struct Everything: Codable, Sendable, Equatable {
        var text = "/\""
        var date = Date(timeIntervalSinceReferenceDate: 12_345)
        var data = Data([0, 255])
        var url = URL(string: "https://example.com/?q=1")
        var price = Decimal(string: "0.1")
        var numbers = [1, -2.5, 1e300]
        var none: Int?
        var table = [7: "seven"]
    }

    /// An object that contains itself.
    private final class Loop: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(self)
        }
    }

    @Test("the output of json: is read by as: and by Foundation's decoder, and a cycle is an error")
    func posting() async throws {
        let server = try await MockServer.start { request in
            MockResponse(
                fields: [.contentType: "application/json"], body: .bytes(try await request.body.collect()))
        }
        let session = try makeSession(baseURL: server.url())
        let answer = try await session.post("x", .json(Everything()), as: Everything.self)
        #expect(answer == Everything())
        let request = try #require(await server.takeRequest())
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        #expect(try decoder.decode(Everything.self, from: Data(request.body)) == Everything())
        #expect(request.text.hasPrefix(#"{"text":"/\"","date":"2001-01-01T03:25:45Z","data":"AP8=""#))
        #expect(request.fields[.contentType] == "application/json")
        #expect(request.fields[.userAgent] == nil)
        #expect(try await session.put("x", .json(5), as: Int.self) == 5)
        #expect(try await session.patch("x", .json(Int?.none), as: Int?.self) == nil)
        #expect(try await session.send(.delete, "x", .json("a"), as: String.self) == "a")
        let typed = try await session.post(
            "x", .json([1]), as: [Int].self, fields: [.contentType: "application/x+json"])
        #expect(typed == [1])
        for _ in 0..<3 { _ = await server.takeRequest() }
        #expect(await server.takeRequest()?.fields[values: .contentType] == ["application/x+json"])
        for value in [Double.nan, .infinity] {
            let error = await curlewError { _ = try await session.post("x", .json(["a": value]), as: [Int].self) }
            #expect(error?.code == .encodingFailed)
        }
        let error = await curlewError { _ = try await session.post("x", .json(Loop()), as: [Int].self) }
        #expect(error?.code == .encodingFailed)
        #expect(error?.uri?.path == "/x")
        #expect(server.requestCount == 5)
    }

    @Test("the verbs keep the body of an error and its decoded failure")
    func verbs() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                status: .unprocessableContent, fields: [.contentType: "application/problem+json"],
                body: #"{"title": "no"}"#)
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError { _ = try await session.post("users", .json(["a": 1]), as: [Int].self) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.method == .post)
        #expect(error?.failure(as: [String: String].self) == ["title": "no"])
    }
}
