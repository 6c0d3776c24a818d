import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Faults of HTTP/2 peers", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct HTTP2FaultTests {
    @Test("a GOAWAY with an error fails the request, and one with NO_ERROR lets its response finish")
    func goAway() async throws {
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run { connection, _ in
                try await connection.write(.goAway(lastStream: 0, .internalError))
            },
            .http2Failed,
            .connectionLost,
            .responseTruncated
        )
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run { connection, stream in
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
        let whole = try await HTTP2FaultScene.run { connection, stream in
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
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run { connection, stream in
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
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run(idle: .milliseconds(500)) { connection, stream in
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
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run { connection, stream in
                try await connection.write(.resetStream(stream, code))
                try await connection.closed
            },
            .http2Failed,
            .connectionLost
        )
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run { connection, stream in
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
        let result = try await HTTP2FaultScene.run { connection, stream in
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

    @Test(
        "a server that stalls before, after or within the head, or in the body, causes an idle timeout",
        arguments: [0, 1, 2])
    func stall(_ place: Int) async throws {
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run(idle: .milliseconds(150)) { connection, stream in
                if place > 0 { try await connection.write(.response(stream: stream, status: 200)) }
                if place > 1 { try await connection.write(.data(stream: stream, [1])) }
                try await connection.closed
            },
            .idleTimeout
        )
    }

    @Test("pings keep a connection alive, but not a stream")
    func pings() async throws {
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run(idle: .milliseconds(200)) { connection, _ in
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
        HTTP2FaultScene.expectFailure(
            try await HTTP2FaultScene.run(idle: .milliseconds(400)) { connection, stream in
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
}
