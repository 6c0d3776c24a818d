import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Validation of a response", .endsServers, .timeLimit(.minutes(1)))
struct ValidationTests {
    struct User: Codable, Sendable, Equatable { var name: String }
    struct Problem: Codable, Sendable, Equatable { var title: String }

    private let users = JSONResponseSerializer<User>()

    @Test("a 502 with an HTML page is an unacceptable status, with the page in the error")
    func gateway() async throws {
        let page = "<html><h1>Bad Gateway</h1></html>"
        let response = try stubResponse(.badGateway, type: "text/html; charset=utf-8", page)
        let error = await curlewError { _ = try await users.serialize(response) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.body == Array(page.utf8))
        #expect(error?.bodyPrefix == Array(page.utf8))
        #expect(error?.response?.status == .badGateway)
        #expect(error?.receivedContentType?.essence == "text/html")
        #expect((error?.underlying as? CurlewError)?.code == .unacceptableContentType)
        #expect(error?.parsedBody == nil)
        #expect(error?.description.contains("<h1>") == false)
    }

    @Test("an unacceptable media type is an error that names it and the acceptable ones")
    func contentType() async throws {
        let error = await curlewError {
            _ = try await users.serialize(stubResponse(type: "text/html", #"{"name": "a"}"#))
        }
        #expect(error?.code == .unacceptableContentType)
        #expect(
            error?.message
                == "the content type is text/html, not one of application/json, text/json, text/javascript")
        #expect(error?.acceptableContent == .types(.json, .textJSON, .javaScript))
        #expect(error?.body == Array(#"{"name": "a"}"#.utf8))
    }

    @Test("suffixes match, and a call can change the acceptable types")
    func override() async throws {
        let text = #"{"name": "a"}"#
        #expect(try await users.serialize(stubResponse(type: "application/vnd.user+json", text)).name == "a")
        var lenient = users
        lenient.acceptance.contentTypes = .any
        #expect(try await lenient.serialize(stubResponse(type: "text/html", text)).name == "a")
        #expect(try await lenient.serialize(stubResponse(type: nil, text)).name == "a")
        lenient.acceptance.statuses = .codes(404)
        #expect(try await lenient.serialize(stubResponse(.notFound, text)).name == "a")
        #expect(
            await curlewError { _ = try await lenient.serialize(stubResponse(.ok, text)) }?.code == .unacceptableStatus)
    }

    @Test("a body without a Content-Type is refused, and an empty body needs none")
    func missing() async throws {
        let error = await curlewError { _ = try await users.serialize(stubResponse(type: nil, "{}")) }
        #expect(error?.code == .unacceptableContentType)
        #expect(error?.receivedContentType == nil)
        for type in ["text/html", nil] {
            let error = await curlewError { _ = try await users.serialize(stubResponse(type: type, "")) }
            #expect(error?.code == .emptyBody)
            let none = try await JSONResponseSerializer<User?>().serialize(stubResponse(.noContent, type: type, ""))
            #expect(none == nil)
        }
    }

    @Test("an error body can be decoded as JSON, as the failure model, or as another type")
    func errorBody() async throws {
        let text = #"{"title": "gone"}"#
        let plain = await curlewError { _ = try await users.serialize(stubResponse(.gone, text)) }
        #expect(plain?.failure(as: JSONValue.self)?["title"]?.stringValue == "gone")
        #expect(plain?.failure(as: Problem.self) == Problem(title: "gone"))
        #expect(plain?.failure(as: User.self) == nil)
        let typed = await curlewError {
            let response = try stubResponse(.gone, type: "application/problem+json", text)
            _ = try await users.orFailure(Problem.self).serialize(response)
        }
        #expect(typed?.code == .unacceptableStatus)
        #expect(typed?.parsedBody as? Problem == Problem(title: "gone"))
        #expect(typed?.underlying == nil)
        // A body that matches the success model is decoded as that model, and can still be decoded as another.
        let fitting = await curlewError {
            _ = try await users.serialize(stubResponse(.conflict, #"{"name": "a", "title": "b"}"#))
        }
        #expect(fitting?.failure(as: User.self) == User(name: "a"))
        #expect(fitting?.failure(as: Problem.self) == Problem(title: "b"))
    }

    @Test("an error with an invalid body has the status as its code and the decoding error as its cause")
    func brokenErrorBody() async throws {
        let error = await curlewError { _ = try await users.serialize(stubResponse(.internalServerError, #"{"title"#)) }
        #expect(error?.code == .unacceptableStatus)
        #expect((error?.underlying as? CurlewError)?.code == .decodingFailed)
        let empty = await curlewError { _ = try await users.serialize(stubResponse(.internalServerError, "")) }
        #expect(empty?.code == .unacceptableStatus)
        #expect(empty?.underlying == nil)
        #expect(empty?.body == [])
    }

    @Test("a failure may have another serializer than a success")
    func otherSerializer() async throws {
        let serializer = users.orFailure(ResponseSerializers.Text())
        let error = await curlewError {
            _ = try await serializer.serialize(stubResponse(.tooManyRequests, type: "text/plain", "slowly"))
        }
        #expect(error?.failure(as: String.self) == "slowly")
        #expect(try await serializer.serialize(stubResponse(#"{"name": "a"}"#)).name == "a")
    }

    @Test(
        "a large error body is truncated at a limit, with or without a known length",
        arguments: [true, false])
    func largeErrorBody(hasLength: Bool) async throws {
        var serializer = users
        serializer.acceptance.errorBodyLimit = 10_000
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        var response = try stubResponse(.badGateway, bytes: bytes)
        if !hasLength { response.body = chunkedBody(pieces(of: bytes, size: 3000)) }
        let error = await curlewError { _ = try await serializer.serialize(response) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.body == nil)
        #expect(error?.bodyPrefix.count == CurlewError.bodyPrefixLimit)
        #expect((error?.underlying as? CurlewError)?.code == .responseTooLarge)
    }

    @Test("an error body of exactly the limit is complete", arguments: [true, false])
    func exactErrorBody(hasLength: Bool) async throws {
        var serializer = users
        serializer.acceptance.errorBodyLimit = 6000
        let bytes = [UInt8](repeating: UInt8(ascii: "1"), count: 6000)
        var response = try stubResponse(.badGateway, bytes: bytes)
        if !hasLength { response.body = chunkedBody(pieces(of: bytes, size: 3000)) }
        #expect(await curlewError { _ = try await serializer.serialize(response) }?.body == bytes)
    }

    @Test("an error body that breaks off keeps the status as the error")
    func brokenOff() async throws {
        func response(_ status: HTTPResponse.Status) throws -> CurlewResponse {
            var response = try stubResponse(status, "")
            response.body = chunkedBody([Array("{\"ti".utf8)], then: CurlewError(.responseTruncated, "cut"))
            return response
        }
        let error = await curlewError { _ = try await users.serialize(response(.badGateway)) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.bodyPrefix == Array("{\"ti".utf8))
        #expect((error?.underlying as? CurlewError)?.code == .responseTruncated)
        #expect(await curlewError { _ = try await users.serialize(response(.ok)) }?.code == .responseTruncated)
    }

    @Test("a validating link passes acceptable streams unchanged and rejects others", .noLeaks)
    func link() async throws {
        let server = try await MockServer.start { request in
            switch request.path {
            case "/good": MockResponse(fields: [.contentType: "text/plain"], body: .pattern(count: 100_000))
            case "/empty": MockResponse(fields: [.contentType: "image/png"])
            case "/image": MockResponse(fields: [.contentType: "image/png"], body: "png")
            default: MockResponse(status: .teapot, fields: [.contentType: "text/plain"], body: "short and stout")
            }
        }
        let session = try HTTPSession(
            baseURL: server.url(), eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            ResponseValidator(contentTypes: .types(.plainText))
        }
        #expect(try await session.get("good").body.collect(upTo: 100_000).count == 100_000)
        #expect(try await session.get("empty").body.collect(upTo: 1) == [])
        let image = await curlewError { _ = try await session.get("image") }
        #expect(image?.code == .unacceptableContentType)
        #expect(image?.method == .get)
        let teapot = await curlewError { _ = try await session.get("tea") }
        #expect(teapot?.code == .unacceptableStatus)
        #expect(teapot?.body == Array("short and stout".utf8))
    }
}

extension HTTPResponse.Status {
    fileprivate static let teapot = HTTPResponse.Status(code: 418)
}
