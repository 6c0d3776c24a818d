import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Value streams with a slow reader", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SlowReaderTests {
    struct Reading: Codable, Sendable, Equatable { var n: Int }

    /// The number of bytes that a server has written.
    private actor Written {
        private(set) var bytes = 0

        func add(_ count: Int) { bytes += count }
    }

    /// A bound above the buffers of two kernels' sockets, the kit and the session together.
    private let bound = 64 << 20

    /// Sends endless pieces at `/endless`, and 32 MiB at any other path.
    private func server(
        _ type: String, _ written: Written, piece: @escaping @Sendable (Int) -> String
    ) async throws -> MockServer {
        try await MockServer.start { request in
            guard request.path == "/endless" else { return MockResponse(body: .pattern(count: 32 << 20)) }
            return MockResponse(
                fields: [.contentType: type],
                body: .stream { writer in
                    for number in 0... {
                        let text = piece(number)
                        try await writer.write(text)
                        await written.add(text.utf8.count)
                    }
                })
        }
    }

    /// Expects that the server is blocked since the reader stopped, and continues once `next` is called again.
    private func expectHeldUp(
        _ api: HTTPSession, _ written: Written, next: () async throws -> Int?
    ) async throws {
        #expect(try await next() == 0)
        var before = -1
        // The loop ends when no byte is written during a transfer of 32 MiB over another connection.
        while await written.bytes != before {
            before = await written.bytes
            try #require(before < bound)
            for try await _ in try await api.get("other").body {}
        }
        var number = 1
        while await written.bytes == before {
            guard try await next() == number else {
                Issue.record("piece \(number) is missing")
                return
            }
            number += 1
        }
    }

    private let padding = String(repeating: " ", count: 8000)

    @Test("a stream of newline-delimited JSON waits for its reader")
    func lines() async throws {
        let written = Written()
        let server = try await server("application/x-ndjson", written) { [padding] in "{\"n\": \(padding)\($0)}\n" }
        let api = try makeSession(baseURL: server.url()) { $0.bodyBufferSize = .kibibytes(64) }
        func read() async throws {
            var readings = try await api.get("endless").body.ndjson(as: Reading.self).makeAsyncIterator()
            try await expectHeldUp(api, written) { try await readings.next()?.n }
        }
        try await read()
        // The connection of the unfinished body is closed, the other is kept.
        try await server.waitForConnections(open: 1)
    }

    @Test("a stream of server-sent events waits for its reader")
    func events() async throws {
        let written = Written()
        let server = try await server("text/event-stream", written) { [padding] in ":\(padding)\ndata: \($0)\n\n" }
        let api = try makeSession(baseURL: server.url()) { $0.bodyBufferSize = .kibibytes(64) }
        func read() async throws {
            var events = try api.eventSource("endless").makeAsyncIterator()
            try await expectHeldUp(api, written) {
                while let event = await events.next() {
                    if case .message(let message) = event { return Int(message.data) }
                }
                return nil
            }
        }
        try await read()
        try await server.waitForConnections(open: 1)
    }
}
