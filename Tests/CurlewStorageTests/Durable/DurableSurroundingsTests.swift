#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import Testing

@testable import CurlewStorage

@Suite("Durable downloads on a full disk and with jumping clocks", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct DurableSurroundingsTests {
    private let place: StorePlace
    private var folder: ScratchFolder { place.folder }

    init() throws { place = try StorePlace() }

    private static let year: Int64 = 365 * 86_400_000

    @Test(
        "a clock that jumps by a year during a download neither ends nor repeats it",
        arguments: StoreKind.available, [year, -year])
    func jump(kind: StoreKind, by milliseconds: Int64) async throws {
        let bytes = pattern("j", count: 400_000)
        var content = RangedContent(bytes, entityTag: "\"j\"")
        content.throttle = .init(bytes: 32 << 10, every: .milliseconds(30))
        let slow = content
        let server = try await MockServer.start { slow.response(to: $0) }
        let http = try HTTPSession(chain: .bare)
        let session = DurableSession(store: try await place.open(kind), http: http, options: quickOptions())
        let other = DurableSession(store: try await place.open(kind), http: http, options: quickOptions())
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        async let work: Void = session.run(untilDrained: true)
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 100_000 }
        place.time.advance(wall: milliseconds)
        async let moreWork: Void = other.run(untilDrained: true)
        _ = try await (work, moreWork)
        #expect(try await session.transfer(id)?.state == .finished)
        #expect(try folder.bytes("file") == bytes)
        #expect(server.requestCount == 1)
        #expect(folder.names().filter { $0.hasSuffix(".part") }.isEmpty)
        for session in [session, other] { try await session.close() }
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "a download that fills its disk waits, and resumes from its part file when there is room",
        .enabled(if: TemporaryDisk.isPermitted), arguments: StoreKind.available)
    func fullDisk(kind: StoreKind) async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let bytes = pattern("d", count: 2_000_000)
        let content = RangedContent(bytes, entityTag: "\"d\"")
        // Without a length the disk fills while the file grows.
        let server = try await MockServer.start { request in
            if request.fields[.range] != nil { return content.response(to: request) }
            return MockResponse(
                fields: [.eTag: "\"d\"", .acceptRanges: "bytes"],
                body: .stream { writer in
                    for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
                        try await writer.write(Array(bytes[start..<min(start + 64 << 10, bytes.count)]))
                    }
                })
        }
        let http = try HTTPSession(chain: .bare)
        let session = DurableSession(store: try await place.open(kind), http: http, options: quickOptions())
        let id = try await session.enqueue(.download(server.url(), to: .file(disk.folder.file("file"))))
        let run = Task { try await session.run(untilDrained: true) }
        try await eventually("it waits") { try await session.transfer(id)?.state == .waitingForDisk }
        #expect(try await session.transfer(id)?.failures == 0, "nothing was thrown away")
        #expect(disk.folder.names().count == 1)
        disk.resize(to: 8 << 20)
        try await session.resume([id])
        try await run.value
        #expect(try disk.folder.bytes("file") == bytes)
        #expect(disk.folder.names() == ["file"])
        #expect(server.requestCount == 2)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "an endless body that fills the disk and cannot be resumed uses up the attempts",
        .enabled(if: TemporaryDisk.isPermitted), arguments: StoreKind.available)
    func endlessBody(kind: StoreKind) async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while true { try await connection.write([UInt8](repeating: 1, count: 64 << 10)) }
        }
        let http = try HTTPSession(chain: .bare)
        let session = DurableSession(store: try await place.open(kind), http: http, options: quickOptions())
        var request = DurableTransfer.Request.download(server.url(), to: .file(disk.folder.file("file")))
        request.attempts = 3
        let id = try await session.enqueue(request)
        let run = Task { try await session.run(untilDrained: true) }
        for failures in 1...2 {
            try await eventually("it waits") {
                try await session.transfer(id).map { $0.state == .waitingForDisk && $0.failures == failures } ?? false
            }
            #expect(disk.folder.names().isEmpty)
            try await session.resume([id])
        }
        try await run.value
        #expect(try await session.transfer(id)?.failure?.code == .diskFull)
        #expect(disk.folder.names().isEmpty)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }
}
#endif
