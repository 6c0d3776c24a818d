import CurlewTesting
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Readable errors and values")
struct ReadableErrorTests {
    struct Bird: Decodable, Sendable { var id: Int }
    struct Flock: Decodable, Sendable { var birds: [Bird] }

    private func error(_ body: String, status: HTTPResponse.Status = .ok) async throws -> CurlewError {
        let stub = StubTransport { _ in
            .response(status, fields: [.contentType: "application/json"], body: .string(body))
        }
        let session = try HTTPSession(transport: stub, chain: .bare)
        return try #require(await curlewError { _ = try await session.get("http://a.test/x?token=s", as: Flock.self) })
    }

    @Test(
        "a value of the wrong kind is reported with its path and both kinds",
        arguments: [
            (#"{"birds":[{"id":1},{"id":"secret"}]}"#, "birds[1].id: expected Int, found a string (in JSON)"),
            (#"{"birds":[{"id":null}]}"#, "birds[0].id: expected Int, found null (in JSON)"),
            (#"{"birds":[{}]}"#, "birds[0].id: missing (in JSON)"),
            (#"{"birds":7}"#, "birds: expected Array<Any>, found a number (in JSON)"),
            (#"{"birds""#, "the body cannot be read as JSON"),
        ])
    func decoding(_ body: String, _ message: String) async throws {
        let error = try await error(body)
        #expect(error.message == message)
        #expect(!error.description.contains("secret"))
    }

    @Test("an unexpected status is described once, with its reason phrase")
    func status() async throws {
        let error = try await error("{}", status: .notFound)
        #expect(
            error.description
                == "unacceptable-status: the status is 404 Not Found, not one of 200 to 299 (GET http://a.test/x?***)")
    }

    @Test("the localized description of an error is its description")
    func localized() async throws {
        let error = try await error("{}", status: .notFound)
        #expect((error as any Error).localizedDescription == error.description)
    }

    @Test(
        "durations are rounded, and have units",
        arguments: [
            (Duration.seconds(20), "20 s"), (.seconds(4.916829), "4.92 s"), (.milliseconds(300), "300 ms"),
            (.microseconds(1500), "1.5 ms"), (.nanoseconds(999_600_000), "1 s"), (.zero, "0 s"),
            (.microseconds(85), "85 µs"), (.seconds(123.456), "123 s"),
        ])
    func durations(_ duration: Duration, _ text: String) {
        #expect(duration.text == text)
    }

    @Test(
        "sizes have the largest unit without a remainder",
        arguments: [
            (ByteSize(0), "0 bytes"), (1, "1 byte"), (100, "100 bytes"), (.kibibytes(64), "64 KiB"),
            (.mebibytes(1), "1 MiB"), (ByteSize(1 << 31), "2 GiB"), (1025, "1025 bytes"),
        ])
    func sizes(_ size: ByteSize, _ text: String) {
        #expect("\(size)" == text)
    }

    @Test("descriptions of public values contain no addresses, internals or secrets")
    func values() throws {
        var request = try CurlewRequest(.post, "https://user:secret@a.test/x?token=secret")
        request.fields[.authorization] = "secret"
        request.body = .string("secret")
        let response = CurlewResponse(.ok, body: .bytes(Array("secret".utf8)), uri: request.uri)
        let session = try HTTPSession(baseURL: "https://a.test/", defaultFields: [.authorization: "secret"])
        let values: [any Sendable] = [
            request, request.body, request.uri, response, response.body, session, Credential.bearer("secret"),
            CurlewRequest.Body.stream { AsyncStream<[UInt8]> { $0.finish() } }, ByteSize(5), ErrorCode.cancelled,
            Retry.Policy(), RequestOptions.IdempotencyKey.random, JSONValue.bool(true), Timeouts(),
            SessionConfiguration().timeouts, ConnectionLimits(), HTTPVersionPolicy.negotiated,
        ]
        for value in values {
            for text in ["\(value)", String(reflecting: value)] {
                #expect(
                    !text.isEmpty && !text.contains("unknown context") && !text.contains("0x"), "\(type(of: value))")
                let isURI = value is CurlewURI
                #expect(isURI || !text.contains("secret"), "\(type(of: value)): \(text)")
            }
        }
        #expect("\(request)" == "POST https://a.test/x?***")
        #expect("\(response)" == "200 OK, HTTP/1.1, https://a.test/x?***")
    }
}
