import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Resumable uploads", .noLeaks, .timeLimit(.minutes(1)))
struct ResumableUploadTests {
    private let source: UploadSource
    private var folder: ScratchFolder { source.folder }
    private var bytes: [UInt8] { source.bytes }
    private var path: String { source.path }
    private let quick = ResumableUpload.Options.quick

    init() throws { source = try UploadSource(count: 300_000) }

    private func choice(_ dialect: UploadServer.Dialect) -> ResumableUpload.Dialect { dialect == .tus ? .tus : .ietf }

    private static let dialects: [UploadServer.Dialect] = [.draft(6), .draft(5), .draft(3), .tus]

    @Test("a file arrives complete in one request", arguments: dialects)
    func whole(dialect: UploadServer.Dialect) async throws {
        let server = try await UploadServer.start(dialect)
        let http = try HTTPSession(chain: .bare)
        let last = Guarded<ResumableUpload.Progress?>(nil)
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick
        ) { progress in last.withLock { $0 = progress } }
        await response.discard()
        #expect(server.files == [bytes])
        #expect(server.log.last == (dialect == .tus ? "PATCH /files/1" : "POST /files"))
        #expect(last.withLock { $0?.total } == 300_000)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an error of the caller's closure is not reported as a cancellation")
    func foreignFailure() async throws {
        struct Failure: Error {}
        let server = try await UploadServer.start(.draft(6))
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.willCreate = { throw Failure() }
        let (upload, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .ietf, upload: upload)
        }
        #expect(error?.code == .foreignFailure && error?.underlying is Failure)
        #expect(server.log.isEmpty)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an interrupted upload continues at its offset", arguments: dialects)
    func broken(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000, 50_000, 0, nil]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let steps = Guarded<[ResumableUpload.Progress]>([])
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick
        ) { progress in steps.withLock { $0.append(progress) } }
        await response.discard()
        #expect(server.files == [bytes])
        let confirmed = steps.withLock { $0.map(\.confirmed) }
        #expect(steps.withLock { $0.last?.sent } == 300_000)
        #expect(confirmed == confirmed.sorted() && confirmed.contains(100_000) && confirmed.contains(150_000))
        #expect(server.log.filter { $0.hasPrefix("HEAD") }.count >= 2)
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "a token is resumed in another session, and a changed file is not sent", arguments: [dialects[0], .tus])
    func token(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 1
        let kept = Guarded<UploadToken?>(nil)
        options.keepToken = { token in kept.withLock { $0 = token } }
        let (first, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: choice(dialect), upload: first)
        }
        let token = try #require(error?.uploadToken)
        #expect(kept.withLock { $0 } == token)
        let copy = try JSONDecoder().decode(UploadToken.self, from: JSONEncoder().encode(token))
        #expect(copy == token)
        var again = quick
        again.token = copy
        let requests = server.log.count
        try Data(bytes.reversed()).write(to: URL(filePath: path))
        let changed = again
        let refusal = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: choice(dialect), upload: changed)
        }
        #expect(refusal?.code == .bodyLengthMismatch && server.log.count == requests)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an upload by the token of a killed process sends the remaining bytes", arguments: [dialects[0], .tus])
    func adopted(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 1
        let (first, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: choice(dialect), upload: first)
        }
        options = quick
        options.token = error?.uploadToken
        let response = try await http.upload(
            file: path, to: .raw(url), resumable: choice(dialect), upload: options)
        await response.discard()
        #expect(server.files == [bytes])
        #expect(server.log.filter { $0.hasPrefix("POST") }.count == 1)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a lost response is queried, and no byte is sent twice", arguments: [dialects[0], .tus])
    func lostAnswer(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.losesLastAnswer = true
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick)
        await response.discard()
        #expect(server.files == [bytes] && server.log.last?.hasPrefix("HEAD") == true)
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "a temporary refusal is retried", arguments: [409, 412, 423, 460, 500, 503],
        [dialects[0], .tus])
    func refused(status: Int, dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [10_000]
        faults.statuses = [nil, status, status]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick)
        await response.discard()
        #expect(server.files == [bytes])
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an upload unknown to the server restarts once, and reports it", arguments: [dialects[0], .tus])
    func forgotten(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        faults.forgetsAfter = 1
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let restarts = Guarded(0)
        let response = try await http.upload(
            file: path, to: .raw(server.url), resumable: choice(dialect), upload: quick
        ) { progress in restarts.withLock { $0 = progress.restarts } }
        await response.discard()
        #expect(server.files == [bytes] && restarts.withLock { $0 } == 1)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a server with false offsets fails the upload", arguments: [300_000, 150_000, 1], [dialects[0], .tus])
    func lies(lie: Int64, dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        faults.lie = lie
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let url = server.url
        var options = quick
        options.retries.attempts = 4
        let bounded = options
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: choice(dialect), upload: bounded)
        }
        #expect(
            error.map { [.invalidResponse, .unacceptableStatus].contains($0.code) } == true,
            "\(String(describing: error))")
        #expect(server.files.isEmpty)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("without interim responses, an interrupted POST is not repeated, and a PUT is")
    func droppedInterim() async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        faults.announces = false
        let server = try await UploadServer.start(.draft(6), faults)
        let http = try HTTPSession(chain: .bare)
        let url = server.url
        let options = quick
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .ietf, upload: options)
        }
        #expect(error?.uploadToken == nil && server.log == ["POST /files"])
        let response = try await http.upload(
            file: path, to: .raw(url), resumable: .ietf, method: .put, upload: options)
        await response.discard()
        #expect(server.files == [bytes])
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a relative location in an interim response belongs to the target of a redirect")
    func redirectedLocation() async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [100_000]
        faults.location = "files/1"
        let server = try await UploadServer.start(.draft(6), faults)
        let url = server.url
        let front = try await MockServer.start { request in
            guard request.target == "/first" else { return MockResponse(status: .notFound) }
            _ = try await request.body.collect()
            return MockResponse(status: .temporaryRedirect, fields: [.location: url])
        }
        let http = try HTTPSession(chain: .bare) { Redirects() }
        var options = quick
        options.allowsOtherOrigins = true
        let response = try await http.upload(
            file: path, to: .raw(front.url("/first")), resumable: .ietf, upload: options)
        await response.discard()
        #expect(server.log == ["POST /files", "HEAD /files/1", "PATCH /files/1"] && front.requestCount == 1)
        #expect(server.files == [bytes])
        await http.shutdown()
        await front.shutdown()
        await server.shutdown()
    }

    @Test("an upload is not sent to another origin unless allowed")
    func otherOrigin() async throws {
        var faults = UploadServer.Faults()
        faults.location = "http://127.0.0.1:1/files/1"
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        let url = server.url
        let options = quick
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: options)
        }
        #expect(error?.code == .invalidResponse)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("OPTIONS tells the server's protocol, and a server without one gets a plain upload")
    func automatic() async throws {
        for dialect in Self.dialects {
            let server = try await UploadServer.start(dialect)
            let http = try HTTPSession(chain: .bare)
            let response = try await http.upload(
                file: path, to: .raw(server.url), resumable: .automatic, upload: quick)
            await response.discard()
            #expect(server.files == [bytes] && server.log.first == "OPTIONS /files")
            await http.shutdown()
            await server.shutdown()
        }
        let plain = try await MockServer.start { request in
            guard request.method == .post else { return MockResponse(status: .methodNotAllowed) }
            let body = try await request.body.collect()
            return MockResponse(body: .bytes(Array("\(body.count)".utf8)))
        }
        let http = try HTTPSession(chain: .bare)
        let response = try await http.upload(
            file: path, to: .raw(plain.url("/files")), resumable: .automatic, upload: quick)
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("300000".utf8))
        let url = plain.url("/files")
        let options = quick
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: options)
        }
        #expect(error?.code == .unsupported)
        await http.shutdown()
        await plain.shutdown()
    }

    @Test("an invalid token is refused")
    func tokens() throws {
        func decode(_ changes: [String: String], part: [String: String] = [:]) throws -> UploadToken {
            var only = ["url": "\"https://a.test/1\"", "start": "0", "length": "10", "offset": "5"]
            only.merge(part) { $1 }
            func object(_ members: [String: String]) -> String {
                "{\(members.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", "))}"
            }
            var members = [
                "version": "1", "protocol": "\"tus\"", "target": "\"https://a.test/\"", "length": "10",
                "parts": "[\(object(only))]",
                "file":
                    "{\"device\": 1, \"node\": 2, \"size\": 10, \"modifiedSeconds\": 3, \"modifiedNanoseconds\": 4}",
            ]
            members.merge(changes) { $1 }
            return try JSONDecoder().decode(UploadToken.self, from: Data(object(members).utf8))
        }
        #expect(try decode([:]).offset == 5)
        for bad in [
            ["version": "2"], ["protocol": "\"ftp\""], ["length": "11"], ["protocol": "\"ietf\"", "interop": "9"],
            ["parts": "[]"], ["protocol": "\"multipart\""],
        ] {
            #expect(throws: (any Error).self) { try decode(bad) }
        }
        for bad in [
            ["offset": "11"], ["offset": "-1"], ["start": "1"], ["length": "9"], ["length": "11"],
            ["length": "9223372036854775807"], ["url": "\"http://a.test/1\""], ["url": "\"ftp://a.test/1\""],
            ["tag": "\"\(String(repeating: "x", count: 2000))\""],
        ] {
            #expect(throws: (any Error).self) { try decode([:], part: bad) }
        }
    }
}
