import Curlew
import HTTPTypes
import TestHelpers
import Testing

@Suite("Compound serializers")
struct CompoundTests {
    enum Answer: Sendable, Equatable {
        case numbers([Int])
        case names([String])
        case text(String)
    }

    private let json = ResponseSerializers.Compound<Answer>([
        JSONResponseSerializer<[Int]>().map { .numbers($0) },
        JSONResponseSerializer<[String]>().map { .names($0) },
    ])

    private var withText: ResponseSerializers.Compound<Answer> {
        var text = ResponseSerializers.Text()
        text.acceptance.contentTypes = .types(.plainText)
        return ResponseSerializers.Compound(json.serializers + [text.map { .text($0) }])
    }

    @Test("the first serializer that returns a value wins")
    func first() async throws {
        #expect(try await withText.serialize(stubResponse("[1]")) == .numbers([1]))
        #expect(try await withText.serialize(stubResponse("[\"a\"]")) == .names(["a"]))
        #expect(try await withText.serialize(stubResponse(type: "text/plain", "[1]")) == .text("[1]"))
        #expect(json.acceptField == "application/json, */*;q=0.1")
    }

    @Test("an error of all serializers contains each of their reasons")
    func none() async throws {
        let error = await curlewError { _ = try await withText.serialize(stubResponse("{}")) }
        #expect(error?.code == .decodingFailed)
        #expect(error?.causes.map(\.code) == [.decodingFailed, .decodingFailed, .unacceptableContentType])
        #expect(error?.body == Array("{}".utf8))
        #expect(error?.response?.status == .ok)
        let other = await curlewError { _ = try await withText.serialize(stubResponse(type: "image/png", "png")) }
        #expect(other?.code == .unacceptableContentType)
        #expect(other?.acceptableContent?.accepts(.plainText) == true)
        #expect(other?.acceptableContent?.accepts(.json) == true)
        let empty = await curlewError { _ = try await json.serialize(stubResponse("")) }
        #expect(empty?.code == .emptyBody)
        #expect(
            await curlewError {
                _ = try await ResponseSerializers.Compound<Int>([]).serialize(stubResponse("1"))
            }?.causes.count == 0)
    }

    @Test("an unacceptable status remains the error, with the decoded body")
    func status() async throws {
        let error = await curlewError {
            _ = try await withText.serialize(stubResponse(.badGateway, type: "text/plain", "no"))
        }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.causes.count == 3)
        #expect(error?.failure(as: String.self) == "no")
        let html = await curlewError {
            _ = try await json.serialize(stubResponse(.badGateway, type: "text/html", "<p>"))
        }
        #expect(html?.code == .unacceptableStatus)
        #expect((html?.underlying as? CurlewError)?.code == .unacceptableContentType)
        var large = try stubResponse(.badGateway, type: "text/plain", "")
        large.body = chunkedBody(Array(repeating: [UInt8](repeating: 0x61, count: 1 << 19), count: 4))
        let cut = await curlewError { _ = try await withText.serialize(large) }
        #expect(cut?.code == .unacceptableStatus)
        #expect(cut?.bodyPrefix.count == CurlewError.bodyPrefixLimit)
    }

    @Test("each serializer has its own statuses")
    func statuses() async throws {
        var missing = ResponseSerializers.Text()
        missing.acceptance.statuses = .codes(404)
        let compound = ResponseSerializers.Compound<Answer>(json.serializers + [missing.map { .text($0) }])
        #expect(try await compound.serialize(stubResponse(.notFound, type: "text/plain", "gone")) == .text("gone"))
        #expect(try await compound.serialize(stubResponse("[1]")) == .numbers([1]))
    }

    @Test("an error thrown by a transformation is a decoding failure")
    func mapping() async throws {
        struct Odd: Error {}
        let serializer = JSONResponseSerializer<Int>(options: .anyValue).map { number in
            if number % 2 == 1 { throw Odd() }
            return number / 2
        }
        #expect(try await serializer.serialize(stubResponse("4")) == 2)
        let error = await curlewError { _ = try await serializer.serialize(stubResponse("3")) }
        #expect(error?.code == .decodingFailed)
        #expect(error?.underlying is Odd)
    }
}
