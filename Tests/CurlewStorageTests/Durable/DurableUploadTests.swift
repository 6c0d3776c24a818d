#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import Testing

@testable import CurlewStorage

@Suite("Durable uploads that resume", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct DurableUploadTests {
    private let place: StorePlace
    private let bytes = BytePattern.bytes(count: 500_000)

    init() throws {
        place = try StorePlace()
        try place.folder.write("film", bytes)
    }

    private var path: String { place.folder.file("film") }

    private func request(
        _ server: UploadServer, _ dialect: UploadServer.Dialect, isIdempotent: Bool? = nil
    ) -> DurableTransfer.Request {
        var request = DurableTransfer.Request.upload(
            file: path, to: server.url, resumable: dialect == .tus ? .tus : .ietf)
        request.isIdempotent = isIdempotent
        return request
    }

    @Test(
        "an upload that breaks off is resumed by another session", arguments: StoreKind.available,
        [UploadServer.Dialect.tus, .draft(6)])
    func goesOn(kind: StoreKind, dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [200_000, 0, 0, 100_000, nil]
        faults.statuses = [nil, 503, 503, 503, 409, 423]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(kind)
        let first = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await first.enqueue(request(server, dialect))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        await TransferRun(claim, first).perform()
        await store.resign(worker)
        let between = try #require(try await store.transfer(id))
        #expect(between.state == .waiting && between.token != nil && between.received == 200_000)
        let second = DurableSession(store: try await place.open(kind), http: http, options: quickOptions())
        let ended = try await second.drain()
        #expect(ended.map(\.state) == [.finished])
        #expect(server.files == [bytes])
        #expect(server.log.filter { $0.hasPrefix("POST") }.count == 1)
        for session in [first, second] { try await session.close() }
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "an upload is resumed after its worker was killed, once the server has announced its location",
        arguments: StoreKind.available, [UploadServer.Dialect.tus, .draft(6)])
    func killed(kind: StoreKind, dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [200_000]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(kind)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await session.enqueue(request(server, dialect))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        // The state that the killed process has recorded.
        #expect(try await store.record(.sending, of: claim.key))
        let token = Guarded<[UInt8]?>(nil)
        var options = ResumableUpload.Options()
        options.retries.attempts = 1
        options.keepToken = { newest in token.withLock { $0 = try? Array(JSONEncoder().encode(newest)) } }
        let (file, url, once) = (path, server.url, options)
        await #expect(throws: CurlewError.self) {
            _ = try await http.upload(
                file: file, to: .raw(url), resumable: dialect == .tus ? .tus : .ietf, upload: once)
        }
        let kept = try #require(token.withLock { $0 })
        #expect(try await store.record(.resumable(token: kept, .init(received: 0, total: 500_000)), of: claim.key))
        await store.resign(worker)
        _ = try await store.claim(TransferWorkerID("other"), policy: claimPolicy(), atMost: 0)
        #expect(try await session.transfer(id)?.state == .waiting, "it need not be sent twice")
        let ended = try await session.drain()
        #expect(ended.map(\.state) == [.finished] && server.files == [bytes])
        #expect(server.log.filter { $0.hasPrefix("POST") }.count == 1)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an upload without an announced location ends as unknown for a POST, and is repeated if idempotent")
    func unannounced() async throws {
        for isIdempotent in [nil, true] as [Bool?] {
            var faults = UploadServer.Faults()
            faults.announces = false
            faults.breaks = [200_000]
            let server = try await UploadServer.start(.draft(6), faults)
            let http = try HTTPSession(chain: .bare)
            let session = DurableSession(
                store: try await place.open(.sqlite, "q\(isIdempotent == nil)"), http: http, options: quickOptions())
            try await session.enqueue(request(server, .draft(6), isIdempotent: isIdempotent))
            let ended = try await session.drain()
            if isIdempotent == true {
                #expect(ended.first?.state == .finished && server.files == [bytes])
            } else {
                #expect(ended.first?.failure?.code == .outcomeUnknown && server.files.isEmpty)
            }
            try await session.close()
            await http.shutdown()
            await server.shutdown()
        }
    }

    @Test("a file that was changed between two runs is not sent again")
    func changed() async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [200_000]
        faults.statuses = [nil, 503, 503, 503, 503]
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(.sqlite)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        try await session.enqueue(request(server, .tus))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        await TransferRun(claim, session).perform()
        await store.resign(worker)
        let requests = server.log.count
        try place.folder.write("film", bytes.reversed())
        let ended = try await session.drain()
        #expect(ended.first?.failure?.code == .bodyLengthMismatch)
        #expect(server.log.count == requests && server.files.isEmpty)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }
}
#endif
