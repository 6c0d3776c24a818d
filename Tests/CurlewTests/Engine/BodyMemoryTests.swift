import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import Testing

@testable import CurlewCore

@Suite("The memory of buffered bodies", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct BodyMemoryTests {
    private func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    @Test("30,000 chunks of one byte in the queue of a slow reader occupy less than 16 MB")
    func singleBytes() async throws {
        let count = 30_000
        let (sent, reports) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<count {
                // Each chunk is a separate write, so that the loop gets a turn for nearly every one.
                try await connection.write("1\r\nx\r\n")
                try await connection.flush()
            }
            try await connection.write("0\r\n\r\n")
            try await connection.flush()
            reports.finish()
            try await connection.closed
        }
        let session = try makeSession()
        try await session.expectUsable()
        let before = try residentBytes()
        let response = try await session.get(.raw(server.url()))
        for await _ in sent {}
        // The written bytes reach the session after some more turns of its loop.
        try await session.letTurnsPass()
        let grown = try residentBytes() - before
        #expect(grown < 16 << 20, "\(grown >> 20) MB for \(count) bytes")
        #expect(try await response.body.collect(upTo: .mebibytes(1)).count == count)
    }
}
