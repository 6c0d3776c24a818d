import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The JSON dialect of a session", .endsServers, .timeLimit(.minutes(1)))
struct SessionJSONTests {
    private struct Sighting: Codable, Sendable, Equatable {
        var birdName = "Curlew"
        var seenAt = Date(timeIntervalSince1970: 86_400)
        var countsByDay = ["dayOne": 1, "day_two": 2]
    }

    @Test("a session's dialect applies to json:, as:, error bodies, responses, events and lines")
    func session() async throws {
        struct Problem: Codable, Sendable, Equatable { var errorCode: Int }
        struct Row: Codable, Sendable, Equatable { var rowID: Int }
        let server = try await MockServer.start { request in
            switch request.path {
            case "/gone":
                MockResponse(status: .gone, fields: [.contentType: "application/json"], body: #"{"error_code":7}"#)
            case "/events": MockResponse(fields: [.contentType: "text/event-stream"], body: "data: {\"row_id\":1}\n\n")
            case "/lines": MockResponse(body: "{\"row_id\":1}\n{\"row_id\":2}\n")
            default: MockResponse(body: .bytes(try await request.body.collect()))
            }
        }
        var api = try makeSession(baseURL: server.url())
        api.json = JSONCoding(keys: .snakeCase)
        let value = Sighting()
        #expect(try await api.post("echo", .json(value), as: Sighting.self) == value)
        #expect(await server.takeRequest()?.text.contains(#""bird_name":"Curlew""#) == true)
        #expect(try await api.post("echo", .json(value)).json(as: Sighting.self) == value)
        let error = await curlewError { _ = try await api.get("gone", as: Row.self) }
        #expect(error?.failure(as: Problem.self) == Problem(errorCode: 7))
        var rows: [Row] = []
        for try await row in api.lines("lines", as: Row.self) { rows.append(row) }
        let once = ServerSentEvent.ReconnectionPolicy(attempts: 1)
        for try await row in api.events("events", method: .post, as: Row.self, reconnection: once) { rows.append(row) }
        #expect(rows.map(\.rowID) == [1, 2, 1])
    }

    @Test("a request serializer writes directly the same text as through the tree")
    func requests() throws {
        let request = CurlewRequest(.post, try CurlewURI("https://example.com/"))
        let body = try JSONRequestSerializer().serialize(Sighting(), into: request).body
        #expect(body.length == Int64(try ParameterValue(encoding: Sighting()).json().count))
        #expect(throws: CurlewError.self) { try JSONRequestSerializer().serialize("fragment", into: request) }
    }
}
