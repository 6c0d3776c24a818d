import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Resumable uploads: extensions, limits and tokens", .noLeaks, .timeLimit(.minutes(5)))
struct UploadExtensionTests {
    private let source: UploadSource
    private var folder: ScratchFolder { source.folder }
    private var bytes: [UInt8] { source.bytes }
    private var path: String { source.path }
    private let quick = ResumableUpload.Options.quick

    init() throws { source = try UploadSource(count: 3_000_000) }

    /// Uploads a file.
    /// - Returns: The file on the server, and the received requests.
    private func upload(
        _ dialect: UploadServer.Dialect, _ faults: UploadServer.Faults, _ options: ResumableUpload.Options,
        _ choice: ResumableUpload.Dialect = .automatic
    ) async throws -> (files: [[UInt8]], log: [String]) {
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let result: Result<Void, any Error>
        do {
            let response = try await http.upload(file: path, to: .raw(server.url), resumable: choice, upload: options)
            await response.discard()
            result = .success(())
        } catch { result = .failure(error) }
        await http.shutdown()
        await server.shutdown()
        try result.get()
        return (server.files, server.log)
    }

    private static func base64(_ bytes: [UInt8], _ algorithm: MessageDigest.Algorithm) -> String {
        guard let digest = try? MessageDigest(algorithm), (try? digest.update(bytes)) != nil else { return "" }
        return Data((try? digest.finishedBytes()) ?? []).base64EncodedString()
    }

    @Test("the parts of a file are sent concurrently, and joined", arguments: [false, true])
    func concatenation(breaks: Bool) async throws {
        var faults = UploadServer.Faults()
        faults.extensions = "creation,concatenation,termination,expiration"
        if breaks { faults.breaks = [300_000, 0, 999_999, 1] }
        var options = quick
        options.parallelParts = 2
        let tokens = Guarded<[UploadToken]>([])
        options.keepToken = { token in tokens.withLock { $0.append(token) } }
        let (files, log) = try await upload(.tus, faults, options)
        #expect(files == [bytes])
        #expect(log.filter { $0 == "POST /files" }.count == 3)
        let last = try #require(tokens.withLock { $0.last })
        #expect(last.offset == 3_000_000 && last.parts.count == 2 && last.expires != nil)
        #expect(try JSONDecoder().decode(UploadToken.self, from: JSONEncoder().encode(last)) == last)
    }

    @Test("parts of an upload are resumed in another process")
    func partsOfToken() async throws {
        var faults = UploadServer.Faults()
        faults.extensions = "creation,concatenation"
        faults.breaks = [400_000, 400_000, 0, 0, 0, 0]
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.parallelParts = 2
        options.retries.attempts = 2
        options.tokenFile = "\(folder.path)/token"
        let (first, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: first)
        }
        let token = try await UploadToken(contentsOf: "\(folder.path)/token")
        #expect(token == error?.uploadToken)
        options.retries.attempts = 10
        options.token = token
        let response = try await http.upload(file: path, to: .raw(url), resumable: .automatic, upload: options)
        await response.discard()
        #expect(server.files == [bytes])
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/token"), "there is nothing to go on with")
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a small file is sent with its creation, if the server supports that", arguments: [0, 1, 100_000, 1 << 20])
    func creationWithUpload(size: Int) async throws {
        try source.write(Array(bytes.prefix(size)))
        var faults = UploadServer.Faults()
        faults.extensions = "creation,creation-with-upload"
        var options = quick
        options.metadata = ["filename": "film", "private": "é"]
        let (files, log) = try await upload(.tus, faults, options)
        #expect(files == [Array(bytes.prefix(size))])
        #expect(log == ["OPTIONS /files", "POST /files"] + (size == 0 ? ["PATCH /files/1"] : []))
    }

    @Test(
        "each request has a digest of its bytes, and damaged bytes are sent again",
        arguments: ["sha256", "sha1", "draft"])
    func checksums(name: String) async throws {
        var faults = UploadServer.Faults()
        faults.extensions = "creation,checksum"
        let count = Guarded(0)
        faults.checksum = (
            name,
            { bytes in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                let digest = Self.base64(bytes, name == "sha1" ? .sha1 : .sha256)
                return number == 2 && name != "draft" ? "damaged" : digest
            }
        )
        var options = quick
        options.checksParts = true
        options.partSize = .mebibytes(1)
        let (files, log) = try await upload(name == "draft" ? .draft(6) : .tus, faults, options)
        #expect(files == [bytes])
        #expect(name == "draft" || log.filter { $0.hasPrefix("PATCH") }.count == 4)
        #expect(count.withLock { $0 } > 0)
    }

    @Test("a server without checksum support gets none")
    func noChecksums() async throws {
        var options = quick
        options.checksParts = true
        let asking = options
        let error = await #expect(throws: CurlewError.self) {
            _ = try await upload(.tus, UploadServer.Faults(), asking, .tus)
        }
        #expect(error?.code == .unsupported)
    }

    @Test("the server's maximum per request is respected, and the upload's expiry is in the token")
    func limits() async throws {
        var faults = UploadServer.Faults()
        faults.appendLimit = 700_000
        faults.breaks = [100_000]
        var options = quick
        let tokens = Guarded<[UploadToken]>([])
        options.keepToken = { token in tokens.withLock { $0.append(token) } }
        // The client learns the limit from the first answer that contains it.
        faults.fields = ["Upload-Limit: max-append-size=700000, max-age=3600"]
        let (files, log) = try await upload(.draft(6), faults, options)
        #expect(files == [bytes])
        #expect(log.filter { $0.hasPrefix("PATCH") }.count == 5)
        #expect(tokens.withLock { $0.last?.expires } != nil)
    }

    @Test("invalid interim responses are ignored, and progress in valid ones is kept")
    func interim() async throws {
        var faults = UploadServer.Faults()
        faults.interim = [
            "HTTP/1.1 104 X\r\nLocation: \u{1}://\r\nUpload-Draft-Interop-Version: 6",
            "HTTP/1.1 104 X\r\nUpload-Offset: 99999999999999999999\r\nUpload-Draft-Interop-Version: 6",
            "HTTP/1.1 104 X\r\nUpload-Offset: -1\r\nLocation: http://elsewhere.test/\r\nUpload-Draft-Interop-Version: 6",
            "HTTP/1.1 104 X\r\nUpload-Offset: abc", "HTTP/1.1 103 Early Hints\r\nLink: </>",
            "HTTP/1.1 104 X\r\nUpload-Offset: 3000001\r\nUpload-Draft-Interop-Version: 6",
        ]
        // libcurl from 8.17 on refuses a Location that differs from the first one of the exchange.
        if Engine.versionNumber >= 0x081100 { faults.interim.removeAll { $0.contains("Location") } }
        faults.breaks = [100_000]
        let (files, _) = try await upload(.draft(6), faults, quick)
        #expect(files == [bytes])
    }

    @Test("a different file with equal size and date is refused if the token has a digest")
    func content() async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [1_000_000]
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.digestsContent = true
        options.retries.attempts = 2
        options.keepToken = { token in if token.offset > 0 { throw CurlewError(.cancelled, "enough") } }
        let (first, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: first)
        }
        let token = try #require(error?.uploadToken)
        #expect(token.parts.first?.digest != nil)
        var status = stat()
        #expect(stat(path, &status) == 0)
        let file = try #require(fopen(path, "r+"))
        fputc(0x7F, file)
        fclose(file)
        let times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        options.keepToken = nil
        options.token = token
        let requests = server.log.count
        let changed = options
        let refusal = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: changed)
        }
        #expect(refusal?.code == .bodyLengthMismatch && server.log.count == requests)
        try source.write(bytes)
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        let response = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: changed)
        await response.discard()
        #expect(server.files == [bytes])
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an abandoned upload is deleted on the server", arguments: [UploadServer.Dialect.tus, .draft(6)])
    func discarded(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [1_000_000]
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 1
        let (once, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(
                file: path, to: .raw(url), resumable: dialect == .tus ? .tus : .ietf, upload: once)
        }
        let token = try #require(error?.uploadToken)
        try await http.discard(token)
        #expect(server.log.last == "DELETE /files/1")
        try await http.discard(token)
        await http.shutdown()
        await server.shutdown()
    }

    /// The error of an upload, and its requests.
    private func failure(
        _ dialect: UploadServer.Dialect, _ faults: UploadServer.Faults, _ options: ResumableUpload.Options,
        _ choice: ResumableUpload.Dialect
    ) async throws -> (error: CurlewError?, files: Int, log: [String]) {
        let server = try await UploadServer.start(dialect, faults)
        let http = try HTTPSession(chain: .bare)
        let url = server.url
        let error = await #expect(throws: CurlewError.self) {
            let response = try await http.upload(file: path, to: .raw(url), resumable: choice, upload: options)
            await response.discard()
        }
        await http.shutdown()
        await server.shutdown()
        return (error, server.files.count, server.log)
    }

    @Test(
        "a server that repeatedly accepts bytes without keeping them does not get them endlessly",
        arguments: [UploadServer.Dialect.tus, .draft(6)])
    func stalled(dialect: UploadServer.Dialect) async throws {
        var faults = UploadServer.Faults()
        faults.drops = true
        let (error, files, log) = try await failure(dialect, faults, quick, dialect == .tus ? .tus : .ietf)
        #expect(error?.code == .invalidResponse && error?.uploadToken != nil && files == 0)
        #expect(log.filter { $0.hasPrefix("PATCH") }.count == 10)
    }

    @Test(
        "an answer before the end of the body is not trusted",
        arguments: [
            (UploadServer.Dialect.tus, 204, ["Upload-Offset: 3000000"]), (.draft(6), 200, ["Upload-Complete: ?1"]),
            (.draft(6), 201, ["Upload-Complete: ?0", "Upload-Offset: 3000000"]),
        ])
    func early(dialect: UploadServer.Dialect, status: Int, fields: [String]) async throws {
        // The file exceeds the buffers of two sockets.
        let large = (0..<24_000_000).map { UInt8(truncatingIfNeeded: $0 >> 7) }
        try source.write(large)
        var faults = UploadServer.Faults()
        faults.early = (status, fields.map { $0.replacing("3000000", with: "24000000") })
        let (error, files, log) = try await failure(dialect, faults, quick, dialect == .tus ? .tus : .ietf)
        #expect(error != nil && files == 0 && log.count < 40, "\(log)")
    }

    @Test("a server that names one version after another gets one request in each")
    func versions() async throws {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            let name = HTTPField.Name("Upload-Draft-Interop-Version")!
            return MockResponse(status: .badRequest, fields: [name: request.fields[name] == "6" ? "5" : "6"])
        }
        let http = try HTTPSession(chain: .bare)
        let (url, options) = (server.url("/files"), quick)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .ietf, upload: options)
        }
        #expect(error?.response?.status == .badRequest && server.requestCount == 2)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("features that the server excludes are not used")
    func refusals() async throws {
        var faults = UploadServer.Faults()
        faults.fields = ["Tus-Max-Size: 1000"]
        var (error, _, log) = try await failure(.tus, faults, quick, .automatic)
        #expect(error?.code == .invalidRequest && log == ["OPTIONS /files"])
        faults.fields = ["Upload-Limit: max-size=1000"]
        (error, _, log) = try await failure(.draft(6), faults, quick, .automatic)
        #expect(error?.code == .invalidRequest && log == ["OPTIONS /files"])
        faults.fields = ["Upload-Limit: max-append-size=3"]
        faults.breaks = [100]
        (error, _, log) = try await failure(.draft(6), faults, quick, .ietf)
        #expect(error?.code == .unsupported && !log.contains { $0.hasPrefix("PATCH") })
        for key in ["", "a b", "a,b", "é", "a\n"] {
            var options = quick
            options.metadata = [key: "x"]
            (error, _, log) = try await failure(.tus, UploadServer.Faults(), options, .tus)
            #expect(error?.code == .invalidRequest && log.isEmpty)
        }
    }

    @Test(
        "a token leads only to its own upload", arguments: ["other target", "other origin", "gone", "shorter"])
    func foreignToken(kind: String) async throws {
        var faults = UploadServer.Faults()
        faults.breaks = [1_000_000]
        let server = try await UploadServer.start(.tus, faults)
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 1
        let (once, url) = (options, server.url)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: once)
        }
        var token = try #require(error?.uploadToken)
        let requests = server.log.count
        var target = url
        switch kind {
        case "other target": target += "/other"
        case "other origin": token.parts[0].uri = try CurlewURI("http://127.0.0.1:1/files/1")
        case "gone": unlink(path)
        default: truncate(path, 2_000_000)
        }
        options.token = token
        let (resumed, place) = (options, target)
        let refusal = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(place), resumable: .tus, upload: resumed)
        }
        let expected: ErrorCode =
            switch kind {
            case "gone": .bodyFailed
            case "shorter": .bodyLengthMismatch
            default: .invalidResumeToken
            }
        #expect(refusal?.code == expected && server.log.count == requests)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an upload that the server has ended restarts, like one unknown to the server", arguments: [404, 410])
    func ended(status: Int) async throws {
        var faults = UploadServer.Faults()
        faults.statuses = [nil, status]
        faults.breaks = [1_000_000]
        let (files, log) = try await upload(.tus, faults, quick, .tus)
        #expect(files == [bytes] && log.filter { $0.hasPrefix("POST") }.count == 2)
    }

    @Test("an error of the token keeper ends the upload, and is thrown as a separate error")
    func keeper() async throws {
        struct Full: Error {}
        var options = quick
        options.keepToken = { _ in throw Full() }
        let (error, files, _) = try await failure(.tus, UploadServer.Faults(), options, .tus)
        #expect(error?.code == .resumeTokenFileFailed && error?.underlying is Full && files == 0)
    }

    @Test("a cancelled upload has a token, and can be resumed")
    func cancelled() async throws {
        let server = try await UploadServer.start(.tus)
        let http = try HTTPSession(chain: .bare)
        let url = server.url
        var options = quick
        let (arrived, arrivals) = AsyncStream.makeStream(of: Void.self)
        options.keepToken = { _ in arrivals.yield() }
        let slow = options
        var limited = RequestOptions()
        limited.rateLimit = RateLimit(sending: .kibibytes(64))
        let throttled = limited
        let task = Task {
            try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: slow, options: throttled)
        }
        for await _ in arrived { break }
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
        options = quick
        options.token = try #require(error?.uploadToken)
        let response = try await http.upload(file: path, to: .raw(url), resumable: .tus, upload: options)
        await response.discard()
        #expect(server.files == [bytes])
        await http.shutdown()
        await server.shutdown()
    }
}
