import CurlewTesting
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// The module CurlewJSON has its own error type. Functions of Curlew report a `CurlewError` instead.
@Suite("JSON errors as CurlewError")
struct JSONErrorTests {
    private let text = Array("{\n \"a\": [1, 1e400]}".utf8)
    private let values = ["a": [1, Double.infinity]]
    private let reading = "a number is beyond the range of Double, at line 2, column 11"
    private let writing = "the parameter a[1] is a number that is infinite or not a number"

    private func expect(
        _ code: ErrorCode, _ message: String, _ location: SourceLocation = #_sourceLocation, _ work: () throws -> Void
    ) {
        let error = #expect(throws: CurlewError.self, sourceLocation: location) { try work() }
        #expect(error?.code == code && error?.message == message, sourceLocation: location)
        #expect(error?.stage == .preparing && error?.underlying == nil, sourceLocation: location)
    }

    @Test("a reading error has its code and position")
    func readingErrors() throws {
        let collected = CurlewResponse.Collected(
            head: HTTPResponse(status: .ok), body: text, uri: try CurlewURI("http://a.test/"))
        expect(.decodingFailed, reading) { _ = try JSONResponseSerializer<[String: [Double]]>().decode(collected) }
        expect(.decodingFailed, reading) { _ = try JSONResponseSerializer<Int>().decodeFailure(collected) }
        let event = ServerSentEvent(data: String(decoding: text, as: UTF8.self))
        expect(.decodingFailed, reading) { _ = try event.json(as: JSONValue.self) }
    }

    @Test("a writing error names the parameter")
    func writingErrors() throws {
        let request = CurlewRequest(.post, try CurlewURI("http://a.test/"))
        let tree: ParameterValue = ["a": [1, ParameterValue(Double.infinity)]]
        expect(.encodingFailed, writing) { _ = try JSONRequestSerializer().serialize(values, into: request) }
        expect(.encodingFailed, writing) { _ = try JSONRequestSerializer().serialize(tree, into: request) }
        expect(.encodingFailed, writing) { _ = try HTTPRequestSerializer().serialize(values, into: request) }
        expect(.encodingFailed, writing) { _ = try RequestParameters.Style().form(tree) }
        var form = MultipartFormData()
        expect(.encodingFailed, writing) { try form.append(json: values, name: "v") }
        expect(.encodingFailed, "the parameter a[] is a number that is infinite or not a number") {
            try form.append(parameters: values)
        }
        expect(
            .encodingFailed, "the value of all parameters must be a dictionary or a list, unless fragments are allowed"
        ) {
            _ = try JSONRequestSerializer().serialize("fragment", into: request)
        }
    }

    @Test("a JSON error in a link or closure of the program becomes a CurlewError at the end of the call")
    func ownUse() async throws {
        let session = try HTTPSession(baseURL: "http://a.test/", transport: StubTransport(), chain: .bare) {
            Link { request, next in
                if request.method == .get { _ = try JSONValue(parsing: text) }
                return try await next(request)
            }
        }
        let error = await curlewError { _ = try await session.get("x") }
        #expect(error?.code == .decodingFailed && error?.message == reading)
        let content = await curlewError {
            _ = try await session.post("x", .multipart { _ in _ = try JSONCoding().encode(values) })
        }
        #expect(content?.code == .encodingFailed && content?.message == writing)
    }

    @Test("an underlying JSON error becomes a CurlewError")
    func beneath() throws {
        let beneath = #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: text) }
        let error = CurlewError(.decodingFailed, "line 1 cannot be read as JSON", underlying: beneath)
        #expect(
            error.description
                == "decoding-failed: line 1 cannot be read as JSON; caused by: decoding-failed: \(reading)")
    }
}
