import Cookbook
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("Transfers of the cookbook", .timeLimit(.minutes(2)))
struct TransferTests {
    private static let disc: [UInt8] = {
        let period = BytePattern.bytes(count: BytePattern.period * 4096)
        var bytes: [UInt8] = []
        while bytes.count < 40 << 20 { bytes += period }
        return bytes
    }()
    private static let discHash = sha256(disc)

    @Test("an upload shows its end before it returns, and a form has a part of JSON")
    func uploads() async throws {
        let server = try await MockServer.start { request in
            var count = 0
            for try await piece in request.body { count += piece.count }
            return .json(#"{"id":"\#(request.path):\#(count)"}"#, status: .created)
        }
        let folder = try TemporaryFolder()
        let recording = try folder.write(BytePattern.bytes(count: 8 << 20), to: "call.wav")
        let shown = Mutex<[Double]>([])
        let receipts = try await publish(recording, at: server.url()) { step in shown.withLock { $0.append(step) } }
        let steps = shown.withLock { $0 }
        #expect(receipts.first == "/recordings:\(8 << 20)" && receipts.last?.hasPrefix("/sightings:") == true)
        #expect(steps.last == 1 && steps.filter { $0 == 1 }.count >= 2, "\(steps)")

        let requests = await server.recorded()
        #expect(requests.map { $0.fields[.contentType]?.prefix(19) } == ["audio/x-wav", "multipart/form-data"])
        let head = String(decoding: requests[1].body.prefix(600), as: UTF8.self)
        #expect(
            head.contains("Content-Type: application/json\r\n\r\n{\"species\":\"Numenius arquata\",\"bird_count\":2}"))
        #expect(head.contains(#"name="recording"; filename="call.wav""#))
        await server.shutdown()
    }

    @Test("an upload that the server refuses is an error with its status")
    func uploadRefused() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .contentTooLarge) }
        let folder = try TemporaryFolder()
        let recording = try folder.write(BytePattern.bytes(count: 1 << 20), to: "call.wav")
        let error = await #expect(throws: CurlewError.self) {
            try await publish(recording, at: server.url()) { _ in }
        }
        #expect(error?.status == .contentTooLarge)
        await server.shutdown()
    }

    @Test("a download that breaks off resumes by itself, and leaves no file beside the complete one")
    func discBrokenOff() async throws {
        let content = RangedContent(Self.disc, entityTag: "\"one\"")
        let server = try await MockServer.start { content.response(to: $0) }
        try server.inject(Fault(.inResponseBody(after: 20 << 20), .reset))
        let folder = try TemporaryFolder()
        let shown = Mutex(0.0)
        let path = try await fetchDisc(from: server.url(), sha256: Self.discHash, into: folder.path) { step in
            shown.withLock { $0 = step }
        }
        #expect(path == folder.path("disc.iso") && folder.names == ["disc.iso"])
        #expect(folder.bytes("disc.iso") == Self.disc && shown.withLock { $0 } == 1)
        let ranges = await server.recorded().map { $0.fields[.range] }
        #expect(ranges.count == 2 && ranges.first == .some(nil) && ranges.last??.hasPrefix("bytes=") == true)

        // The same call returns the existing file without a request.
        #expect(try await fetchDisc(from: server.url(), sha256: Self.discHash, into: folder.path) == path)
        #expect(server.requestCount == 2)
        #expect(folder.names == ["disc.iso"] && folder.bytes("disc.iso") == Self.disc)
        await server.shutdown()
    }

    @Test("a download with another digest leaves nothing behind")
    func discWithOtherDigest() async throws {
        let content = RangedContent(Self.disc, entityTag: "\"one\"")
        let server = try await MockServer.start { content.response(to: $0) }
        let folder = try TemporaryFolder()
        let error = await #expect(throws: CurlewError.self) {
            try await fetchDisc(from: server.url(), sha256: sha256([1]), into: folder.path)
        }
        #expect(error?.code == .digestMismatch)
        #expect(folder.names.isEmpty)
        let noDigest = await #expect(throws: CurlewError.self) {
            try await fetchDisc(from: server.url(), sha256: "nonsense", into: folder.path)
        }
        #expect(noDigest?.stage == .preparing)
        await server.shutdown()
    }

    @Test("a download whose process was killed resumes from its checkpoint")
    func discAfterKill() async throws {
        let content = RangedContent(Self.disc, entityTag: "\"one\"")
        let server = try await MockServer.start { content.response(to: $0) }
        try server.inject(Fault(.inResponseBody(after: 24 << 20), .stall))
        let folder = try TemporaryFolder()
        let first = try ProgramProcess("disc", server.url(), Self.discHash, folder.path)
        try await eventually("a checkpoint of 16 MiB is kept") {
            let token = try? await ResumeToken(contentsOf: folder.path("disc.token"))
            return (token?.receivedCount ?? 0) >= 16 << 20
        }
        first.send(SIGKILL)
        #expect(await first.end().status == -SIGKILL)
        #expect(!folder.names.contains("disc.iso"))

        let second = try ProgramProcess("disc", server.url(), Self.discHash, folder.path)
        #expect(await second.end().status == 0)
        #expect(second.lines == [folder.path("disc.iso")])
        #expect(folder.names == ["disc.iso"] && folder.bytes("disc.iso") == Self.disc)
        let range = try #require(await server.recorded().last?.fields[.range])
        let start = try #require(Int(range.dropFirst("bytes=".count).dropLast()))
        #expect((16 << 20...24 << 20).contains(start))
        await server.shutdown()
    }

    @Test("a second worker completes a queue of six discs after the first worker was killed")
    func queueAfterKill() async throws {
        let disc = Array(Self.disc.prefix(4 << 20))
        let content = RangedContent(disc, entityTag: "\"one\"")
        let gate = Gate()
        let server = try await MockServer.start { request in
            let whole = content.response(to: request)
            guard request.fields[.range] == nil else { return whole }
            // The first attempts stop at 3 MiB, until the worker has been killed.
            var slow = whole
            slow.body = .stream(length: disc.count) { writer in
                try await writer.write(Array(disc.prefix(3 << 20)))
                await gate.pass()
                try await writer.write(Array(disc.dropFirst(3 << 20)))
            }
            return slow
        }
        let folder = try TemporaryFolder()
        let hash = sha256(disc)
        let words = (1...6).flatMap { [server.url("/disc\($0).iso"), hash] }
        let first = try ProgramProcess(["mirror", folder.path] + words)
        try await eventually("the discs are in the queue") { first.lines == ["enqueued"] }
        let watched = try await DurableSession(
            identifier: "mirror", folder: folder.path("queue"), http: HTTPSession())
        try await eventually("four transfers have a checkpoint") {
            try await watched.transfers(in: [.running]).filter { $0.transferred >= 1 << 20 }.count == 4
        }
        let second = try ProgramProcess("mirror", folder.path)
        try await eventually("the second worker has joined") { second.lines == ["enqueued"] }
        first.send(SIGKILL)
        #expect(await first.end().status == -SIGKILL)
        await gate.open()

        #expect(await second.end().status == 0)
        let discs = (1...6).map { "disc\($0).iso" }
        #expect(second.lines == ["enqueued"] + discs.map { folder.path($0) })
        #expect(folder.names == discs + ["queue"])
        for name in discs { #expect(folder.bytes(name) == disc) }
        #expect(try await watched.counts() == [.finished: 6])
        #expect(await server.recorded().contains { $0.fields[.range] != nil })
        try await watched.close()
        await server.shutdown()
    }
}
