import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Faults of HTTP/2 peers during an upload", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct HTTP2UploadFaultTests {
    @Test("the changed SETTINGS of a server apply to its connection")
    func settings() async throws {
        let result = try await HTTP2FaultScene.run(over: .put, body: .bytes(Array(repeating: 1, count: 200_000))) {
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

    @Test("a complete answer before the end of an upload is the answer, even if a reset follows")
    func earlyAnswer() async throws {
        let result = try await HTTP2FaultScene.run(over: .put, body: .bytes(Array(repeating: 1, count: 4 << 20))) {
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
        let result = try await HTTP2FaultScene.run(over: .post, body: .once(length: length, chunks)) {
            connection, stream in
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
            HTTP2FaultScene.expectFailure(result, .connectionLost)
        } else {
            #expect(try result.get() == Array(answer.body.utf8))
        }
    }

    @Test(
        "libcurl 7.88 loses an answer that it reads together with its stream's reset, 8.14 delivers it"
    )
    func earlyAnswerInOneReading() async throws {
        let result = try await HTTP2FaultScene.run(over: .put, body: .bytes(Array(repeating: 1, count: 4 << 20))) {
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
            HTTP2FaultScene.expectFailure(result, .http2Failed)
        } else {
            #expect(try result.get() == Array("large".utf8))
        }
    }
}
