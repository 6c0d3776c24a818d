#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import Testing

@testable import CurlewStorage

@Suite(
    "Trust in the rows of a queue: folders, names, tokens and secrets", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct DurableTrustTests {
    private let place: StorePlace
    private var folder: ScratchFolder { place.folder }

    init() throws {
        place = try StorePlace()
        for name in ["allowed", "other"] {
            try FileManager.default.createDirectory(atPath: place.folder.file(name), withIntermediateDirectories: true)
        }
    }

    // MARK: Folders

    @Test("a worker reads and writes only in the folders of its session", arguments: StoreKind.available)
    func folders(kind: StoreKind) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "content") }
        let http = try HTTPSession(chain: .bare)
        try folder.write("allowed/source", Array("mine".utf8))
        try folder.write("other/source", Array("private".utf8))
        #expect(symlink(folder.file("other"), folder.file("allowed/link")) == 0)
        #expect(symlink(folder.file("other/source"), folder.file("allowed/shortcut")) == 0)
        #expect(symlink(folder.file("away"), folder.file("allowed/dangling")) == 0)
        var options = quickOptions()
        options.folders = [folder.file("allowed")]
        let session = DurableSession(store: try await place.open(kind), http: http, options: options)
        let url = server.url()
        var below = Destination.folder(folder.file("allowed/new/deep"))
        below.createsFolders = true
        let good = try await session.enqueue([
            .download(url, to: .file(folder.file("allowed/file"))), .download(url, to: below),
            .download(url, to: .file(folder.file("allowed/\u{301}file"))),
            .upload(file: folder.file("allowed/source"), to: url),
        ])
        var astray = Destination.file(folder.file("allowed/dangling/file"))
        astray.createsFolders = true
        let bad = try await session.enqueue([
            .download(url, to: .file(folder.file("other/file"))),
            .download(url, to: .file(folder.file("allowed-not/file"))),
            .download(url, to: .file(folder.file("allowed/../other/file"))),
            .download(url, to: .file(folder.file("allowed/link/file"))),
            .download(url, to: .file(folder.file("allowed/link/\u{301}new/file"))),
            .download(url, to: .file(folder.file("allowed/../\u{301}new/file"))),
            .download(url, to: .folder(folder.file("allowed/link"))),
            .download(url, to: astray),
            .upload(file: folder.file("other/source"), to: url),
            .upload(file: folder.file("allowed/shortcut"), to: url),
            .upload(file: folder.file("allowed/link/source"), to: url, resumable: .tus),
        ])
        _ = try await session.drain()
        for id in good { #expect(try await session.transfer(id)?.state == .finished) }
        for (number, id) in bad.enumerated() {
            let transfer = try #require(try await session.transfer(id))
            #expect(
                transfer.failure?.code == (transfer.request.source == nil ? .invalidDestination : .invalidRequest),
                "\(number): \(String(describing: transfer.outcome))")
        }
        #expect(server.requestCount == good.count)
        #expect(folder.names(in: "other") == ["source"])
        #expect(folder.names().sorted().filter { $0 != "queue" } == ["allowed", "other"])
        try await session.acknowledgeAll()
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("without folders in the options a worker writes anywhere")
    func everyFolder() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "content") }
        let http = try HTTPSession(chain: .bare)
        let session = DurableSession(store: try await place.open(.sqlite), http: http, options: quickOptions())
        try await session.enqueue(.download(server.url(), to: .file(folder.file("other/file"))))
        #expect(try await session.drain().map(\.state) == [.finished])
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    // MARK: Names

    /// The stored renaming of a file, as in a row.
    private func naming(_ part: String, _ target: String, replaces: Bool = false) throws -> [UInt8] {
        let identity = try FileSnapshot(statusOf: part, for: .keeping)
        func text(_ value: String) -> String { "\"\(value)\"" }
        let snapshot = String(decoding: try JSONEncoder().encode(identity), as: UTF8.self)
        return Array(
            "{\"name\":{\"part\":\(text(part)),\"target\":\(text(target)),\"replaces\":\(replaces),\"identity\":\(snapshot)}}"
                .utf8)
    }

    @Test(
        "a rename that does not match its transfer is refused", arguments: StoreKind.available,
        ["target", "folder", "part", "part's folder", "replaces"])
    func foreignName(kind: StoreKind, wrong: String) async throws {
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(kind)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await session.enqueue(.download("http://127.0.0.1:1/", to: .file(folder.file("allowed/file"))))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        let part = wrong == "part" ? ".curlew-other-1.part" : ".curlew-\(id)-1.part"
        let source = "\(wrong == "part's folder" ? "other" : "allowed")/\(part)"
        try folder.write(source, Array("attacker's".utf8))
        let target =
            switch wrong {
            case "target": "allowed/victim"
            case "folder": "other/file"
            default: "allowed/file"
            }
        try folder.write("allowed/victim", Array("victim".utf8))
        let row = try naming(folder.file(source), folder.file(target), replaces: wrong == "replaces")
        if wrong == "target" { unlink(folder.file("allowed/victim")) }
        #expect(try await store.record(.naming(row), of: claim.key))
        await store.resign(worker)
        let ended = try await session.drain()
        #expect(ended.first?.failure?.code == .queueFailed)
        #expect(access(folder.file(target), F_OK) != 0)
        try await session.close()
        await http.shutdown()
    }

    @Test(
        "a rename that its transfer has recorded is done by the next worker", arguments: StoreKind.available,
        ["file", "folder", "unique"])
    func ownName(kind: StoreKind, destination: String) async throws {
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(kind)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        // The symbolic link leads to the allowed folder by another path.
        #expect(symlink(folder.file("allowed"), folder.file("link")) == 0)
        var path =
            destination == "folder" ? Destination.folder(folder.file("link")) : .file(folder.file("link/file"))
        if destination == "unique" { path.existing = .unique }
        let id = try await session.enqueue(.download("http://127.0.0.1:1/", to: path))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        let part = "allowed/.curlew-\(id)-1.part"
        try folder.write(part, Array("content".utf8))
        let name = destination == "file" ? "file" : "file-1"
        let row = try naming(folder.file(part), folder.file("allowed/\(name)"))
        #expect(try await store.record(.naming(row), of: claim.key))
        await store.resign(worker)
        #expect(try await session.drain().map(\.state) == [.finished])
        #expect(try folder.bytes("allowed/\(name)") == Array("content".utf8))
        try await session.close()
        await http.shutdown()
    }

    // MARK: Tokens

    @Test(
        "a token with a part in another folder, or with a URL of another origin, is rejected",
        arguments: StoreKind.available, [true, false])
    func foreignToken(kind: StoreKind, isFolder: Bool) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "content") }
        let other = try await MockServer.start { _ in MockResponse(body: "attacker's") }
        let http = try HTTPSession(chain: .bare)
        let store = try await place.open(kind)
        var options = quickOptions()
        options.authorization = { _ in [.authorization: "Bearer secret"] }
        let session = DurableSession(store: store, http: http, options: options)
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("allowed/file"))))
        let worker = TransferWorkerID("w")
        let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
        let part = folder.file("\(isFolder ? "other" : "allowed")/.curlew-\(id)-0.part")
        let victim = Array("victim".utf8)
        try folder.write(isFolder ? "other/.curlew-\(id)-0.part" : "allowed/.curlew-\(id)-0.part", victim)
        let identity = try FileSnapshot(statusOf: part, for: .keeping)
        var members = String(decoding: try JSONEncoder().encode(identity), as: UTF8.self)
        members.removeFirst()
        members.removeLast()
        members += ",\"path\":\"\(part)\""
        let url = isFolder ? server.url() : other.url()
        let token = """
            {"version":1,"url":"\(url)","validator":{"entityTag":"\\"a\\""},"part":{\(members)},"received":[]}
            """
        _ = try JSONDecoder().decode(ResumeToken.self, from: Data(token.utf8))
        #expect(
            try await store.record(
                .checkpoint(token: Array(token.utf8), .init(received: 0, total: nil), quota: nil), of: claim.key))
        await store.resign(worker)
        #expect(try await session.drain().map(\.state) == [.finished])
        #expect(try folder.bytes("allowed/file") == Array("content".utf8))
        #expect(other.requestCount == 0)
        if isFolder { #expect(try folder.bytes("other/.curlew-\(id)-0.part") == victim) }
        try await session.close()
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }

    // MARK: Secrets

    @Test("secret fields do not follow a redirect to another origin")
    func secrets() async throws {
        let other = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(body: "content")
        }
        let target = other.url()
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(status: .temporaryRedirect, fields: [.location: target])
        }
        try folder.write("allowed/source", Array("mine".utf8))
        let http = try HTTPSession()
        let names = ["Private-Token", "X-Example-Badge"].compactMap { HTTPField.Name($0) }
        var options = quickOptions()
        options.authorization = { _ in
            var fields = HTTPFields()
            for name in names { fields[name] = "secret" }
            return fields
        }
        let session = DurableSession(store: try await place.open(.sqlite), http: http, options: options)
        var download = DurableTransfer.Request.download(server.url(), to: .file(folder.file("allowed/file")))
        download.fields[.accept] = "a/b"
        var upload = DurableTransfer.Request.upload(file: folder.file("allowed/source"), to: server.url())
        upload.fields[.accept] = "a/b"
        try await session.enqueue([download, upload])
        #expect(try await session.drain().map(\.state) == [.finished, .finished])
        #expect(server.requestCount == 2 && other.requestCount == 2)
        for _ in 0..<2 {
            let first = try #require(await server.takeRequest())
            let second = try #require(await other.takeRequest())
            for name in names { #expect(first.fields[name] == "secret" && second.fields[name] == nil) }
            #expect(second.fields[.accept] == "a/b")
        }
        try await session.close()
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }

    @Test(
        "a resumable upload of a queue follows no redirect to another origin",
        arguments: [ResumableUpload.Dialect.tus, .ietf])
    func redirectedUpload(dialect: ResumableUpload.Dialect) async throws {
        let other = try await MockServer.start { _ in MockResponse(status: .created) }
        let target = other.url()
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(status: .permanentRedirect, fields: [.location: target])
        }
        try folder.write("allowed/source", Array("mine".utf8))
        let http = try HTTPSession()
        let session = DurableSession(store: try await place.open(.sqlite), http: http, options: quickOptions())
        try await session.enqueue(
            .upload(file: folder.file("allowed/source"), to: server.url(), resumable: dialect))
        #expect(try await session.drain().first?.failure?.code == .redirectRefused)
        #expect(other.requestCount == 0)
        try await session.close()
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }
}
#endif
