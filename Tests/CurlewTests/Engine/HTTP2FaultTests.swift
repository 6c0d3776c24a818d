import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import Curlew

@Suite("Faults of HTTP/2 peers", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct HTTP2FaultTests {
    /// The behaviour of a server at the first request of a connection.
    typealias Script = @Sendable (RawConnection, UInt32) async throws -> Void

    private func run(
        idle: Duration = .seconds(10),
        over method: HTTPRequest.Method = .get,
        body: CurlewRequest.Body = .none,
        _ script: @escaping Script
    ) async throws -> Result<[UInt8], CurlewError> {
        let server = try await RawServer.start { connection in
            let stream = try await connection.acceptHTTP2Request()
            try await script(connection, stream)
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
        }
        var options = RequestOptions()
        options.idleTimeout = idle
        let result: Result<[UInt8], CurlewError>
        do {
            let response = try await session.send(method, .raw(server.url()), .body(body), options: options)
            result = .success(try await response.body.collect(upTo: .mebibytes(16)))
        } catch let error as CurlewError {
            result = .failure(error)
        }
        options = RequestOptions()
        options.versionPolicy = .http11
        let other = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(try await session.fetch(other.url(), options: options) == Array("ok".utf8))
        await server.shutdown()
        return result
    }

    private func expectFailure(
        _ result: Result<[UInt8], CurlewError>,
        _ codes: ErrorCode...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .failure(let error) = result, codes.contains(error.code) else {
            Issue.record("got \(result)", sourceLocation: sourceLocation)
            return
        }
    }

    @Test("a GOAWAY with an error fails the request, and one with NO_ERROR lets its response finish")
    func goAway() async throws {
        expectFailure(
            try await run { connection, _ in
                try await connection.write(.goAway(lastStream: 0, .internalError))
            },
            .http2Failed,
            .connectionLost,
            .responseTruncated
        )
        expectFailure(
            try await run { connection, stream in
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "10")]),
                    .data(stream: stream, Array("hello".utf8)),
                    .goAway(lastStream: stream, .internalError)
                )
            },
            .http2Failed,
            .connectionLost,
            .responseTruncated
        )
        let whole = try await run { connection, stream in
            try await connection.write(
                .goAway(lastStream: stream, .noError),
                .response(stream: stream, status: 200),
                .data(stream: stream, Array("hello".utf8), endStream: true)
            )
            // A connection that is closed with unread bytes is reset, which may destroy the sent answer.
            try await connection.closed
        }
        #expect(try whole.get() == Array("hello".utf8))
    }

    @Test("a connection that ends after a head without a length is a failure", arguments: [false, true])
    func endAfterHead(resets: Bool) async throws {
        expectFailure(
            try await run { connection, stream in
                try await connection.write(
                    .response(stream: stream, status: 200),
                    .data(stream: stream, Array("hello".utf8))
                )
                try await connection.flush()
                if resets { await connection.reset() }
            },
            .connectionLost,
            .responseTruncated,
            .http2Failed
        )
    }

    @Test("a connection error after a head without a length is a failure")
    func errorAfterHead() async throws {
        expectFailure(
            try await run(idle: .milliseconds(500)) { connection, stream in
                // A DATA frame on stream 0 is a connection error (RFC 9113 §6.1).
                try await connection.write(
                    .response(stream: stream, status: 200),
                    .data(stream: 0, Array("x".utf8))
                )
                try await connection.closed
            },
            .connectionLost,
            .responseTruncated,
            .http2Failed,
            .idleTimeout
        )
    }

    @Test(
        "a RST_STREAM before or after the head fails the request, with and without an error code",
        arguments: [8, 2, 0] as [UInt32])
    func resetStream(_ code: UInt32) async throws {
        let code = HTTP2WireFrame.ErrorCode(rawValue: code)
        expectFailure(
            try await run { connection, stream in
                try await connection.write(.resetStream(stream, code))
                try await connection.closed
            },
            .http2Failed,
            .connectionLost
        )
        expectFailure(
            try await run { connection, stream in
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "10")]),
                    .data(stream: stream, Array("hello".utf8)),
                    .resetStream(stream, code)
                )
                try await connection.closed
            },
            .http2Failed,
            .responseTruncated,
            .connectionLost
        )
    }

    @Test("a response that needs window updates is complete after a GOAWAY", arguments: [1, 8])
    func windowsAfterGoAway(_ count: Int) async throws {
        let body = [UInt8](repeating: 7, count: 400_000)
        let server = try await MockServer.start(.init(protocols: [.http2])) { _ in MockResponse(body: .bytes(body)) }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        // The fault applies to the last exchange, because SwiftNIO treats frames of streams that it refuses after its
        // GOAWAY as a connection error.
        try server.inject(Fault(.atRequestStart, .goAway(.noError)), at: .exchange(count - 1))
        let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<count { group.addTask { try await session.fetch(server.url()) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.allSatisfy { $0 == body })
        await server.shutdown()
    }

    @Test("a refused stream is repeated on another connection")
    func refused() async throws {
        let result = try await run { connection, stream in
            if connection.index == 0 {
                try await connection.write(.resetStream(stream, .refusedStream))
            } else {
                try await connection.write(
                    .response(stream: stream, status: 200),
                    .data(stream: stream, Array("again".utf8), endStream: true)
                )
            }
            try await connection.closed
        }
        #expect(try result.get() == Array("again".utf8))
    }

    @Test("an upload that must not be repeated does not disturb the connection on which libcurl would repeat it")
    func refusedUpload() async throws {
        let certificate = try HeldCertificate.localhost()
        let (uploads, uploading) = AsyncStream.makeStream(of: Void.self)
        let (heads, headRead) = AsyncStream.makeStream(of: Void.self)
        let (failures, failed) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start(tls: ServerTLS([certificate], applicationProtocols: ["h2"])) {
            connection in
            guard connection.index == 0 else {
                let stream = try await connection.acceptHTTP2Request()
                try await connection.write(.response(stream: stream, status: 200))
                for await _ in failures {}
                try await connection.write(.data(stream: stream, Array("whole".utf8), endStream: true))
                return try await connection.closed
            }
            let first = try await connection.acceptHTTP2Request(settings: [(.maxConcurrentStreams, 1)])
            try await connection.write(
                .response(stream: first, status: 200), .data(stream: first, [1], endStream: true))
            let upload = try await connection.readFrame { $0.kind == .data }.stream
            uploading.finish()
            // libcurl attempts to send the upload again, on the connection that another request is using.
            for await _ in heads {}
            try await connection.write(.resetStream(upload, .refusedStream))
            try await connection.closed
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        #expect(try await session.fetch(server.url()) == [1])
        let upload = Task {
            try await session.send(
                .post, .raw(server.url()),
                .body(
                    .once(
                        length: 200_000,
                        AsyncStream<[UInt8]> {
                            $0.yield(Array(repeating: 1, count: 200_000))
                            $0.finish()
                        })))
        }
        for await _ in uploads {}
        let response = try await session.get(.raw(server.url()))
        headRead.finish()
        #expect(await curlewError { _ = try await upload.value }?.code == .connectionLost)
        failed.finish()
        #expect(try await response.body.collect(upTo: 100) == Array("whole".utf8))
        #expect(server.accepted == 2)
        try await session.expectUsable()
    }

    @Test("the changed SETTINGS of a server apply to its connection")
    func settings() async throws {
        let result = try await run(over: .put, body: .bytes(Array(repeating: 1, count: 200_000))) {
            connection,
            stream in
            try await connection.write(.settings([(.initialWindowSize, 10), (.maxFrameSize, 16_384)]))
            try await connection.write(.settings([(.initialWindowSize, 1 << 20)]))
            var count = 0
            while count < 200_000 {
                let frame = try await connection.readFrame { $0.kind == .data }
                count += frame.payload.count
                try await connection.write(.windowUpdate(increment: UInt32(max(1, frame.payload.count))))
            }
            try await connection.write(
                .response(stream: stream, status: 200),
                .data(stream: stream, Array("\(count)".utf8), endStream: true)
            )
            try await connection.closed
        }
        #expect(try result.get() == Array("200000".utf8))
    }

    @Test(
        "a server that stalls before, after or within the head, or in the body, causes an idle timeout",
        arguments: [0, 1, 2])
    func stall(_ place: Int) async throws {
        expectFailure(
            try await run(idle: .milliseconds(150)) { connection, stream in
                if place > 0 { try await connection.write(.response(stream: stream, status: 200)) }
                if place > 1 { try await connection.write(.data(stream: stream, [1])) }
                try await connection.closed
            },
            .idleTimeout
        )
    }

    @Test("pings keep a connection alive, but not a stream")
    func pings() async throws {
        expectFailure(
            try await run(idle: .milliseconds(200)) { connection, _ in
                while true {
                    try await connection.write(.ping())
                    try await ContinuousClock().sleep(for: .milliseconds(20))
                }
            },
            .idleTimeout
        )
    }

    @Test("10,000 fields are an error")
    func manyFields() async throws {
        expectFailure(
            try await run(idle: .milliseconds(400)) { connection, stream in
                let fields = (0..<10_000).map { ("f\($0)", "v") }
                let whole = HTTP2WireFrame.response(stream: stream, status: 200, fields: fields)
                var rest = whole.payload[...]
                var first = whole
                first.payload = Array(rest.prefix(16_000))
                first.flags = []
                rest = rest.dropFirst(16_000)
                try await connection.write(first)
                while !rest.isEmpty {
                    let part = HTTP2WireFrame(
                        kind: .continuation,
                        flags: rest.count <= 16_000 ? .endHeaders : [],
                        stream: stream,
                        payload: Array(rest.prefix(16_000))
                    )
                    rest = rest.dropFirst(16_000)
                    try await connection.write(part)
                }
                try await connection.closed
            },
            .responseHeadTooLarge,
            .http2Failed,
            .idleTimeout,
            .connectionLost,
            .invalidResponse
        )
    }

    @Test("a peer that does not speak HTTP/2 is an error")
    func garbage() async throws {
        let server = try await RawServer.start { connection in
            try await connection.readPreface()
            try await connection.write("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n")
        }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(
            [.http2Failed, .connectionLost, .invalidResponse].contains(error?.code),
            "\(String(describing: error))"
        )
    }

    @Test("a complete answer before the end of an upload is the answer, even if a reset follows")
    func earlyAnswer() async throws {
        let result = try await run(over: .put, body: .bytes(Array(repeating: 1, count: 4 << 20))) {
            connection, stream in
            try await connection.write(
                .response(stream: stream, status: 413, fields: [("content-length", "5")]),
                .data(stream: stream, Array("large".utf8), endStream: true)
            )
            // libcurl 7.88 would lose the answer if it read the reset together with it. Its answer to a ping shows that
            // it has read the answer.
            try await connection.write(.ping())
            _ = try await connection.readFrame { $0.kind == .ping && $0.flags.contains(.acknowledgement) }
            try await connection.write(.resetStream(stream, .noError))
            try await connection.closed
        }
        #expect(try result.get() == Array("large".utf8))
    }

    /// An answer that ends its half of the stream while the request's half is open.
    enum EarlyAnswer: CaseIterable, CustomTestStringConvertible {
        case length, noContent, onlyHead, noLength

        var testDescription: String { "\(self)" }

        fileprivate var body: String { self == .length || self == .noLength ? "early" : "" }

        fileprivate func frames(on stream: UInt32) -> [HTTP2WireFrame] {
            switch self {
            case .length:
                [
                    .response(stream: stream, status: 200, fields: [("content-length", "5")]),
                    .data(stream: stream, Array(body.utf8), endStream: true),
                ]
            case .noContent: [.response(stream: stream, status: 204, endStream: true)]
            case .onlyHead:
                [.response(stream: stream, status: 200, fields: [("content-length", "0")], endStream: true)]
            case .noLength:
                [
                    .response(stream: stream, status: 200),
                    .data(stream: stream, Array(body.utf8), endStream: true),
                ]
            }
        }
    }

    @Test(
        "an answer that ended before the last bytes of the request is the answer", arguments: EarlyAnswer.allCases,
        [nil, 14])
    func answerBeforeTheRequestEnds(_ answer: EarlyAnswer, length: Int64?) async throws {
        let (chunks, upload) = AsyncStream.makeStream(of: [UInt8].self)
        upload.yield(Array("request".utf8))
        let result = try await run(over: .post, body: .once(length: length, chunks)) { connection, stream in
            // The client's answer to a ping shows that it has read the answer. Both are sent at once, because libcurl
            // 7.88 reads nothing after a complete body with a length until the request is sent.
            try await connection.write((answer.frames(on: stream) + [.ping()]).flatMap(\.bytes))
            _ = try await connection.readFrame { $0.kind == .ping && $0.flags.contains(.acknowledgement) }
            upload.yield(Array("request".utf8))
            upload.finish()
            try await connection.closed
        }
        // libcurl 8.2 treats the end of the stream by the end of the request as an error; only a length then shows that
        // the answer is complete.
        if answer == .noLength, Engine.versionNumber >= 0x080200 {
            expectFailure(result, .connectionLost)
        } else {
            #expect(try result.get() == Array(answer.body.utf8))
        }
    }

    @Test(
        "libcurl 7.88 loses an answer that it reads together with its stream's reset, 8.14 delivers it"
    )
    func earlyAnswerInOneReading() async throws {
        let result = try await run(over: .put, body: .bytes(Array(repeating: 1, count: 4 << 20))) {
            connection, stream in
            try await connection.write(
                .response(stream: stream, status: 413, fields: [("content-length", "5")]),
                .data(stream: stream, Array("large".utf8), endStream: true),
                .resetStream(stream, .noError)
            )
            try await connection.closed
        }
        // libcurl 7.88 discards unread bytes of a stream when it reads the reset.
        if Engine.versionNumber < 0x080E00 {
            expectFailure(result, .http2Failed)
        } else {
            #expect(try result.get() == Array("large".utf8))
        }
    }
}
