import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Limits of resumable uploads: repeated bytes and other origins", .noLeaks, .timeLimit(.minutes(2)))
struct UploadBoundTests {
    private let source: UploadSource
    private var path: String { source.path }
    private let quick = ResumableUpload.Options.quick

    init() throws { source = try UploadSource(count: 300_000) }

    private func choice(_ dialect: UploadServer.Dialect) -> ResumableUpload.Dialect { dialect == .tus ? .tus : .ietf }

    // MARK: Repeated bytes

    @Test(
        "a server that keeps too little of each request gets the file at most ten times",
        arguments: [UploadServer.Dialect.tus, .draft(6), .draft(3)], [1, 1000, 2000])
    func trickle(dialect: UploadServer.Dialect, kept: Int) async throws {
        var faults = UploadServer.Faults()
        let requests = Guarded(0)
        // The server accepts the upload in the end, so that the test terminates if the limit fails.
        faults.keeps = { count in
            let number = requests.withLock { number in
                number += 1
                return number
            }
            return number > 60 ? count : kept
        }
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let (url, options) = (server.url, quick)
        let error = await curlewError {
            _ = try await http.upload(file: path, to: .raw(url), resumable: choice(dialect), upload: options)
        }
        #expect(error?.code == .invalidResponse)
        #expect(error?.uploadToken?.offset ?? 0 > 0)
        #expect(requests.withLock { $0 } <= 11)
        #expect(server.received <= 11 * 300_000)
        #expect(server.files.isEmpty)
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "a server that keeps a tenth of each request gets the complete file",
        arguments: [UploadServer.Dialect.tus, .draft(6)])
    func tenths(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.keeps = { count in count < 20_000 ? count : count / 10 }
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick)
        await response.discard()
        #expect(server.files == [source.bytes])
        await http.shutdown()
        await server.shutdown()
    }

    @Test("the requests of an upload send at most eight times the file plus 64 MiB")
    func sending() async throws {
        let length = 4_000_000
        try source.write(BytePattern.bytes(count: length))
        var faults = UploadServer.Faults()
        // The server keeps enough of each request for the client to continue.
        faults.keeps = { count in max(count / 40, min(count, 1024)) }
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        let (url, options) = (server.url, quick)
        let error = await curlewError {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: options)
        }
        let limit = 8 * length + (64 << 20)
        #expect(error?.code == .invalidResponse && error?.message.contains("bytes were sent") == true)
        #expect(error?.uploadToken != nil)
        #expect((limit...(limit + length)).contains(server.received))
        await http.shutdown()
        await server.shutdown()
    }

    @Test("the byte limit of an upload is a valid number for files of any length")
    func limits() {
        #expect(UploadJournal.sendingLimit(length: 0) == 64 << 20)
        #expect(UploadJournal.sendingLimit(length: 1 << 30) == 8 << 30 + 64 << 20)
        #expect(UploadJournal.sendingLimit(length: .max) == .max)
        #expect(UploadJournal.sendingLimit(length: .max / 8) == .max)
    }

    // MARK: Redirects

    @Test(
        "no request of an upload follows a redirect to another origin", arguments: [301, 302, 303, 307, 308],
        [ResumableUpload.Dialect.ietf, .tus])
    func redirected(status: Int, dialect: ResumableUpload.Dialect) async throws {
        let other = try await MockServer.start { _ in MockResponse(status: .created) }
        let target = other.url("/files")
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            if request.path == "/files", request.method == .post, dialect == .tus {
                return MockResponse(status: .created, fields: [.tusResumable: "1.0.0", .location: "/files/1"])
            }
            return MockResponse(status: .init(code: status), fields: [.location: target])
        }
        let http = try HTTPSession()
        let (url, options) = (server.url("/files"), quick)
        let error = await curlewError {
            _ = try await http.upload(file: path, to: .raw(url), resumable: dialect, upload: options)
        }
        #expect(error?.code == .redirectRefused && error?.message.contains("another origin") == true)
        #expect(other.requestCount == 0)
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }

    @Test("a redirect within the origin is followed, and one to another origin if the options allow it")
    func allowed() async throws {
        let bytes = source.bytes
        let other = try await MockServer.start { request in
            let body = try await request.body.collect()
            return MockResponse(status: body == bytes ? .created : .badRequest)
        }
        let target = other.url("/files")
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(
                status: .temporaryRedirect, fields: [.location: request.path == "/files" ? "/moved" : target])
        }
        let http = try HTTPSession()
        var upload = quick
        upload.allowsOtherOrigins = true
        let response = try await http.upload(
            file: path, to: .raw(server.url("/files")), resumable: .ietf, upload: upload)
        #expect(response.status == .created && other.requestCount == 1)
        await response.discard()
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }

    // MARK: Secrets

    @Test("marked secret fields are not sent to an upload on another origin, or with its end")
    func markedFields() async throws {
        let length = source.bytes.count
        let other = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(
                status: .noContent, fields: [.tusResumable: "1.0.0", .uploadOffset: "\(length)"])
        }
        let place = other.url("/files/1")
        let server = try await MockServer.start { _ in
            MockResponse(status: .created, fields: [.tusResumable: "1.0.0", .location: place])
        }
        let http = try HTTPSession(chain: .bare)
        var upload = quick
        upload.allowsOtherOrigins = true
        let token = Guarded<UploadToken?>(nil)
        upload.keepToken = { newest in token.withLock { $0 = newest } }
        let fields: HTTPFields = [Self.privateToken: "secret", .authorization: "Bearer secret", .accept: "a/b"]
        let options = RequestOptions(secretFields: [Self.privateToken])
        let response = try await http.upload(
            file: path, to: .raw(server.url("/files")), resumable: .tus, fields: fields, upload: upload,
            options: options)
        await response.discard()
        try await http.discard(try #require(token.withLock { $0 }), fields: fields, options: options)
        #expect(await server.takeRequest()?.fields[Self.privateToken] == "secret")
        for method in [HTTPRequest.Method.patch, .delete] {
            let sent = try #require(await other.takeRequest())
            #expect(sent.method == method && sent.fields[.accept] == "a/b" && sent.fields[.tusResumable] == "1.0.0")
            #expect(sent.fields[Self.privateToken] == nil && sent.fields[.authorization] == nil)
        }
        await http.shutdown()
        for server in [server, other] { await server.shutdown() }
    }

    private static let privateToken = HTTPField.Name("Private-Token")!
}
