#if Service && TestKit
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import NIOCore
import Testing

@Suite("Answers that a gateway forwards", .noLeaks, .timeLimit(.minutes(1)))
struct ForwardedAnswerTests {
    /// The answer of an upstream as bytes, and the expected answer of the gateway.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = HTTPRequest.Method.get
        let head: String
        var body = ""
        /// The values of Content-Length.
        let lengths: [String]
        let content: String
    }

    private static let chunks = "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"

    /// Answers one request with these bytes.
    private func upstream(_ bytes: String) async throws -> RawServer {
        try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(bytes)
            await connection.close()
        }
    }

    private func forward(
        _ method: HTTPRequest.Method = .get, over session: HTTPSession, collected: ByteSize = .kibibytes(16)
    ) async throws -> HTTPSession.Forwarding.Answer {
        var rules = try HTTPSession.Forwarding(named: "edge")
        rules.collectedBody = collected
        let body = AsyncStream<ByteBuffer> { $0.finish() }
        let head = HTTPRequest(method: method, scheme: "http", authority: "a.test", path: "/")
        return try await session.forward(head, body: body, as: rules)
    }

    /// The bytes of the body as a server writes them.
    private func written(_ answer: HTTPSession.Forwarding.Answer) async throws -> String {
        let (parts, part) = AsyncStream.makeStream(of: String.self)
        do {
            try await answer.send {
                part.yield(String(buffer: $0))
            } finish: { _ in
            }
        } catch {
            part.finish()
            throw Broken(written: await parts.reduce("", +), error: error)
        }
        part.finish()
        return await parts.reduce("", +)
    }

    private struct Broken: Error {
        let written: String
        let error: any Error
    }

    @Test(
        "Content-Length equals the number of bytes that follow, or is absent",
        arguments: [
            Case(
                testDescription: "a coding beside a length",
                head: "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                body: chunks, lengths: [], content: "0123456789"),
            Case(
                testDescription: "a length beside a coding",
                head: "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                body: chunks, lengths: [], content: "0123456789"),
            Case(
                testDescription: "a coding beside a larger length",
                head: "Content-Length: 50\r\nTransfer-Encoding: chunked\r\n", body: chunks, lengths: [],
                content: "0123456789"),
            Case(
                testDescription: "a list of equal lengths", head: "Content-Length: 5, 5\r\n", body: "01234",
                lengths: ["5"], content: "01234"),
            Case(
                testDescription: "equal lengths in two fields", head: "Content-Length: 5\r\nContent-Length: 5\r\n",
                body: "01234", lengths: ["5"], content: "01234"),
            Case(
                testDescription: "a length with zeros before it", head: "Content-Length: 005\r\n", body: "01234",
                lengths: ["5"], content: "01234"),
            Case(
                testDescription: "a length that Connection lists",
                head: "Connection: Content-Length\r\nContent-Length: 5\r\n", body: "01234", lengths: ["5"],
                content: "01234"),
            Case(testDescription: "no length", head: "", body: "01234", lengths: [], content: "01234"),
            Case(
                testDescription: "a length of HEAD", method: .head, head: "Content-Length: 5, 5\r\n", lengths: ["5"],
                content: ""),
            Case(
                testDescription: "a coding beside a length of HEAD", method: .head,
                head: "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", lengths: [], content: ""),
        ])
    func length(_ answer: Case) async throws {
        for collected in [ByteSize.kibibytes(16), .kibibytes(0)] {
            let server = try await upstream("HTTP/1.1 200 OK\r\n\(answer.head)\r\n\(answer.body)")
            let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
            let forwarded = try await forward(answer.method, over: session, collected: collected)
            #expect(forwarded.status == .ok)
            #expect(forwarded.fields[values: .contentLength] == answer.lengths)
            #expect(!forwarded.fields.contains(.transferEncoding))
            #expect(try await written(forwarded) == answer.content)
            await session.shutdown()
            await server.shutdown()
        }
    }

    @Test(
        "an answer whose status has no content has no length, except 304",
        arguments: [(204, []), (304, ["5"])] as [(Int, [String])])
    func noContent(_ status: Int, _ lengths: [String]) async throws {
        let server = try await upstream("HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\n")
        let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
        let forwarded = try await forward(over: session)
        #expect(forwarded.status.code == status && forwarded.fields[values: .contentLength] == lengths)
        #expect(try await written(forwarded) == "")
        await session.shutdown()
        await server.shutdown()
    }

    @Test("an interim answer has no Content-Length")
    func interim() async throws {
        let server = try await upstream(
            "HTTP/1.1 103 X\r\nContent-Length: 5\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
        var rules = try HTTPSession.Forwarding(named: "edge")
        let (heads, head) = AsyncStream.makeStream(of: HTTPResponse.self)
        rules.onInterim = { head.yield($0) }
        let answer = try await session.forward(
            HTTPRequest(method: .get, scheme: "http", authority: "a.test", path: "/"),
            body: AsyncStream<ByteBuffer> { $0.finish() }, as: rules)
        head.finish()
        #expect(answer.status == .ok)
        var fields: [HTTPFields] = []
        for await head in heads { fields.append(head.headerFields) }
        #expect(fields.map { $0.map(\.name.canonicalName) } == [["link"]])
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a cancelled forward cancels its receiver of interim answers")
    func cancelledInterim() async throws {
        let server = try await upstream("HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
        var rules = try HTTPSession.Forwarding(named: "edge")
        let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)
        let (pauses, pause) = AsyncStream.makeStream(of: Void.self)
        rules.onInterim = { _ in
            beginning.finish()
            // The stream ends when the task is cancelled.
            for await _ in pauses {}
        }
        let forwarding = Task { [rules] in
            _ = try await session.forward(
                HTTPRequest(method: .get, scheme: "http", authority: "a.test", path: "/"),
                body: AsyncStream<ByteBuffer> { $0.finish() }, as: rules)
        }
        for await _ in beginnings {}
        forwarding.cancel()
        _ = await forwarding.result
        withExtendedLifetime(pause) {}
        await session.shutdown()
        await server.shutdown()
    }

    @Test(
        "a body of another length than declared ends with an error, and no byte beyond the length is written",
        arguments: [
            ("3", "012", ErrorCode.invalidResponse), ("7", "01234", .responseTruncated), ("x", "", .invalidResponse),
        ])
    func otherLength(_ announced: String, _ expected: String, _ code: ErrorCode) async throws {
        let server = try await upstream("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n01234")
        let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
        for collected in [ByteSize.kibibytes(16), .kibibytes(0)] {
            var answer = try await forward(over: session, collected: collected)
            // A route may replace the field.
            answer.fields[.contentLength] = announced
            let broken = await #expect(throws: Broken.self) { _ = try await written(answer) }
            #expect((broken?.error as? CurlewError)?.code == code)
            #expect("01234".hasPrefix(broken?.written ?? "x") && (broken?.written.count ?? 99) <= expected.count)
        }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a generated answer to HEAD has a length and no bytes")
    func ownAnswerToHead() async throws {
        let server = try await upstream("garbage\r\n\r\n")
        let session = try HTTPSession(baseURL: server.url(), configuration: testConfiguration(), chain: .bare)
        let answer = try await forward(.head, over: session)
        #expect(answer.status == .badGateway && answer.fields[.contentLength] == "16")
        #expect(answer.buffer?.readableBytes == 0)
        #expect(try await written(answer) == "")
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a generated answer whose status has no content drops its bytes", arguments: [204, 304])
    func madeWithoutContent(_ status: Int) async throws {
        let answer = HTTPSession.Forwarding.Answer(.init(code: status), bytes: Array("surplus".utf8))
        #expect(!answer.fields.contains(.contentLength) && answer.buffer?.readableBytes == 0)
        #expect(try await written(answer) == "")
    }
}
#endif
