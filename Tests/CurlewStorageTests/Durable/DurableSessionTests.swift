#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import Testing

@testable import CurlewStorage

@Suite("Transfers that outlive the process", .noLeaks, .timeLimit(.minutes(1)))
struct DurableSessionTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func session(
        _ options: DurableSession.Options = quickOptions()
    ) async throws -> (DurableSession, HTTPSession) {
        let http = try HTTPSession(chain: .bare)
        let session = try await DurableSession(
            identifier: "q", folder: folder.file("queue"), http: http, options: options)
        return (session, http)
    }

    private func parts() -> [String] { folder.names().filter { $0.hasSuffix(".part") } }

    @Test("the ends of a download and an upload are delivered until acknowledged, and leave no trace")
    func wholeWay() async throws {
        let bytes = pattern("a", count: 300_000)
        let content = RangedContent(bytes, entityTag: "\"one\"")
        let server = try await MockServer.start { request in
            guard request.method == .put else { return content.response(to: request) }
            return MockResponse(status: .created, fields: [.eTag: "\"new\""], body: "thanks")
        }
        try folder.write("source.json", Array("{}".utf8))
        var (session, http) = try await session()
        try await session.enqueue([
            .download(server.url("/file"), to: .file(folder.file("file"))),
            .upload(file: folder.file("source.json"), to: server.url("/up")),
        ])
        #expect(try await session.counts() == [.waiting: 2])
        var ended = try await session.drain()
        #expect(ended.count == 2)
        let file = try #require(ended.first { $0.request.source == nil }?.file)
        #expect(file.path == folder.file("file") && file.size == 300_000)
        #expect(try folder.bytes("file") == bytes)
        let response = try #require(ended.first { $0.request.source != nil }?.response)
        #expect(response.status == .created && response.body == Array("thanks".utf8))
        #expect(response.fields[.eTag] == "\"new\"")
        try await session.close()
        await http.shutdown()
        (session, http) = try await self.session()
        ended = try await session.drain()
        #expect(ended.count == 2, "they were not acknowledged")
        for transfer in ended { try await session.acknowledge(transfer.id) }
        ended = try await session.drain()
        #expect(ended.isEmpty)
        #expect(try await session.counts().isEmpty)
        #expect(parts().isEmpty)
        #expect(server.requestCount == 2)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a stopped download resumes in the next session from the part on the disk")
    func adopted() async throws {
        let bytes = pattern("b", count: 1 << 20)
        var content = RangedContent(bytes, entityTag: "\"one\"")
        content.throttle = .init(bytes: 128 << 10, every: .milliseconds(200))
        let slow = content
        content.throttle = nil
        let quick = content
        let count = RequestCount()
        let server = try await MockServer.start { count.next() == 0 ? slow.response(to: $0) : quick.response(to: $0) }
        var (session, http) = try await session()
        let id = try await session.enqueue(.download(server.url("/file"), to: .file(folder.file("file"))))
        let run = Task { [session] in try await session.run() }
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 200_000 }
        run.cancel()
        _ = await run.result
        #expect(try await session.transfer(id)?.state == .waiting)
        #expect(parts().count == 1 && folder.names().contains("file") == false)
        try await session.close()
        await http.shutdown()
        (session, http) = try await self.session()
        let ended = try await session.drain()
        #expect(ended.first?.file?.size == 1 << 20)
        #expect(try folder.bytes("file") == bytes)
        #expect(parts().isEmpty)
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.fields[.range] != nil)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "if a process was killed before it renamed a complete file, the next process renames it once",
        arguments: ["before", "after", "gone"])
    func naming(moment: String) async throws {
        let bytes = pattern("c", count: 100_000)
        let content = RangedContent(bytes, entityTag: "\"one\"")
        let server = try await MockServer.start { content.response(to: $0) }
        // The state after a process was killed around the renaming.
        let http = try HTTPSession(chain: .bare)
        let store = try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: "q")
        let session = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await session.enqueue(.download(server.url("/file"), to: .file(folder.file("file"))))
        let part = ".curlew-\(id)-0.part"
        let kept = Guarded<PendingName?>(nil)
        var download = DownloadTask.Options()
        download.custody = DownloadCustody(partName: part) { _, _ in
        } name: { whole in
            try await whole.name { pending in
                kept.withLock { $0 = pending }
                if moment == "before" { throw CurlewError(.cancelled, "killed") }
            }
        }
        _ = try? await http.download(.raw(server.url("/file")), to: .file(folder.file("file")), download: download)
        let pending = try #require(kept.withLock { $0 })
        #expect(folder.names() == [moment == "before" ? part : "file", "queue"])
        if moment == "gone" { unlink(folder.file("file")) }
        let worker = TransferWorkerID()
        let policy = ClaimPolicy(lease: .seconds(60), total: 1, perHost: 1, perTag: [:])
        let claim = try #require(try await store.claim(worker, policy: policy, atMost: 1).first)
        let naming = try JSONEncoder().encode(["name": pending])
        #expect(try await store.record(.naming(Array(naming)), of: claim.key))
        await store.resign(worker)
        let ended = try await session.drain()
        if moment == "gone" {
            #expect(ended.first?.failure?.code == .fileFailed)
        } else {
            #expect(ended.first?.file?.path == folder.file("file") && ended.first?.file?.size == 100_000)
            #expect(try folder.bytes("file") == bytes)
        }
        #expect(server.requestCount == 1 && parts().isEmpty)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a stopped worker without a claim renames no file and leaves no part")
    func zombie() async throws {
        let bytes = pattern("d", count: 200_000)
        let content = RangedContent(bytes, entityTag: "\"one\"")
        let count = RequestCount()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if count.next() == 0 { for await _ in gate { break } }
            return content.response(to: request)
        }
        let time = StoreTime()
        let store = try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: "q", clock: time.clock)
        let http = try HTTPSession(chain: .bare)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await session.enqueue(.download(server.url("/file"), to: .file(folder.file("file"))))
        let policy = ClaimPolicy(lease: .seconds(30), total: 1, perHost: 1, perTag: [:])
        let claim = try #require(try await store.claim(TransferWorkerID(), policy: policy, atMost: 1).first)
        let run = TransferRun(claim, session)
        let zombie = Task { await run.perform() }
        try await server.waitForRequests(1)
        time.advance(uptime: 60_000)
        let taken = try #require(try await store.claim(TransferWorkerID(), policy: policy, atMost: 1).first)
        open.yield()
        await zombie.value
        #expect(folder.names() == ["queue"])
        await TransferRun(taken, session).perform()
        #expect(try await session.transfer(id)?.state == .finished)
        #expect(try folder.bytes("file") == bytes)
        #expect(parts().isEmpty)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a temporary failure is retried up to the limit, and a permanent one is not retried")
    func failures() async throws {
        let count = RequestCount()
        let server = try await MockServer.start { request in
            switch request.path {
            case "/flaky": count.next() < 2 ? MockResponse(status: .serviceUnavailable) : MockResponse(body: "good")
            case "/down": MockResponse(status: .badGateway)
            default: MockResponse(status: .notFound)
            }
        }
        let (session, http) = try await session()
        var results: [String: DurableTransfer] = [:]
        for path in ["flaky", "down", "missing"] {
            var request = DurableTransfer.Request.download(server.url("/\(path)"), to: .file(folder.file(path)))
            request.attempts = 3
            try await session.enqueue(request)
            for transfer in try await session.drain() {
                results[path] = transfer
                try await session.acknowledge(transfer.id)
            }
        }
        #expect(results["flaky"]?.state == .finished && results["flaky"]?.failures == 2)
        #expect(results["down"]?.failure?.code == .unacceptableStatus && results["down"]?.failures == 2)
        #expect(results["missing"]?.failure?.code == .unacceptableStatus && results["missing"]?.failures == 0)
        #expect(server.requestCount == 3 + 3 + 1)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a running transfer is suspended, resumed and cancelled, and a cancelled download leaves no file")
    func commands() async throws {
        var content = RangedContent(pattern("e", count: 1 << 20), entityTag: "\"one\"")
        content.throttle = .init(bytes: 32 << 10, every: .milliseconds(100))
        let slow = content
        let server = try await MockServer.start { slow.response(to: $0) }
        let (session, http) = try await session()
        let id = try await session.enqueue(.download(server.url("/file"), to: .file(folder.file("file"))))
        let run = Task { try await session.run() }
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 100_000 }
        #expect(try await session.suspend([id]) == 1)
        try await eventually("it is suspended") { try await session.transfer(id)?.state == .suspended }
        #expect(parts().count == 1)
        #expect(try await session.resume([id]) == 1)
        try await eventually("it runs again") { try await session.transfer(id)?.state == .running }
        try await server.waitForRequests(2)
        #expect(try await session.cancel([id]) == 1)
        try await eventually("its part is removed") { parts().isEmpty }
        #expect(try await session.transfer(id)?.state == .cancelled)
        try await session.acknowledge(id)
        #expect(try await session.transfer(id) == nil)
        run.cancel()
        _ = await run.result
        #expect(folder.names() == ["queue"])
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("secrets are stored only on request, and otherwise come from a provider, which may fail")
    func secrets() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .bytes(Array((request.fields[.authorization] ?? "none").utf8)))
        }
        var options = quickOptions()
        let calls = Guarded(0)
        options.authorization = { _ in
            let call = calls.withLock { count in
                count += 1
                return count
            }
            guard call > 1 else { throw CurlewError(.connectionFailed, "no vault") }
            return [.authorization: "Bearer secret"]
        }
        let (session, http) = try await session(options)
        var request = DurableTransfer.Request.download(server.url(), to: .file(folder.file("file")))
        request.fields[.authorization] = "Bearer kept"
        let refused = request
        #expect(await curlewError { try await session.enqueue(refused) }?.code == .invalidRequest)
        #expect(
            await curlewError { try await session.enqueue(.download("http://me:secret@a.test/", to: .file("/tmp/x"))) }?
                .code
                == .invalidRequest)
        let hidden = DurableTransfer.Request.download("http://\u{301}me:secret@a.test/", to: .file("/tmp/x"))
        #expect(await curlewError { try await session.enqueue(hidden) }?.code == .invalidRequest)
        request.fields = [:]
        try await session.enqueue(request)
        #expect(try await session.drain().first?.state == .finished)
        #expect(try folder.bytes("file") == Array("Bearer secret".utf8))
        for name in folder.names(in: "queue") {
            let content = String(decoding: try folder.bytes("queue/\(name)"), as: UTF8.self)
            #expect(!content.contains("secret"))
        }
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a file that has changed is not sent, and a POST that may have arrived is not repeated")
    func uploads() async throws {
        let server = try await MockServer.start { request in
            request.path == "/lost" ? MockResponse(status: .ok, body: .none).closing() : MockResponse(body: "good")
        }
        try folder.write("source", pattern("f", count: 1000))
        let (session, http) = try await session()
        try await session.enqueue(.upload(file: folder.file("source"), to: server.url("/up")))
        try folder.write("source", pattern("g", count: 1001))
        #expect(try await session.drain().first?.failure?.code == .bodyLengthMismatch)
        #expect(server.requestCount == 0)
        try await session.acknowledgeAll()
        try await session.enqueue(.upload(file: folder.file("source"), to: server.url("/up"), method: .post))
        #expect(try await session.drain().first?.response?.body == Array("good".utf8))
        #expect(server.requestCount == 1)
        let error = await curlewError {
            try await session.enqueue(.upload(file: folder.file("nothing"), to: server.url()))
        }
        #expect(error?.code == .bodyFailed)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a transfer waits for the network, and a download waits for disk space")
    func resources() async throws {
        var options = quickOptions()
        options.network = { .notReachable }
        let http = try HTTPSession(chain: .bare)
        let session = try await DurableSession(
            identifier: "n", folder: folder.file("queue"), http: http, options: options)
        let id = try await session.enqueue(.download("http://name.invalid/", to: .file(folder.file("file"))))
        let run = Task { try await session.run() }
        try await eventually("it waits") { try await session.transfer(id)?.state == .waitingForNetwork }
        #expect(try await session.transfer(id)?.failures == 0)
        run.cancel()
        _ = await run.result
        try await session.close()
        options = quickOptions()
        options.limits.freeSpace = ByteSize(Int.max)
        let full = try await DurableSession(identifier: "d", folder: folder.file("queue"), http: http, options: options)
        let other = try await full.enqueue(.download("http://127.0.0.1:9/", to: .file(folder.file("file"))))
        let fullRun = Task { try await full.run() }
        try await eventually("it waits") { try await full.transfer(other)?.state == .waitingForDisk }
        fullRun.cancel()
        _ = await fullRun.result
        try await full.close()
        await http.shutdown()
    }

    @Test("two workers share a queue, and each transfer runs once")
    func sharing() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .bytes(Array(request.path.utf8)))
        }
        let (session, http) = try await session()
        let (other, otherHTTP) = try await self.session()
        try await session.enqueue(
            (0..<40).map { .download(server.url("/\($0)"), to: .file(folder.file("\($0)"))) })
        async let first: Void = session.run(untilDrained: true)
        async let second: Void = other.run(untilDrained: true)
        _ = try await (first, second)
        #expect(try await session.counts() == [.finished: 40])
        #expect(server.requestCount == 40)
        for number in 0..<40 { #expect(try folder.bytes("\(number)") == Array("/\(number)".utf8)) }
        try await session.acknowledgeAll()
        #expect(try await session.counts().isEmpty)
        for session in [session, other] { try await session.close() }
        for http in [http, otherHTTP] { await http.shutdown() }
        await server.shutdown()
    }
}

extension MockResponse {
    fileprivate func closing() -> MockResponse {
        var response = self
        response.closesConnection = true
        return response
    }
}
#endif
