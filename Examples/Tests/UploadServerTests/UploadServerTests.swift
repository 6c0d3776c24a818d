import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Uploads to servers of other projects.
@Suite("Resumable uploads to servers of other projects", .serialized, .timeLimit(.minutes(3)))
struct UploadServerTests {
    private let folder: URL
    private let bytes = BytePattern.bytes(count: 12_000_000)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(
            path: "curlew-upload-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: path))
    }

    private var path: String { folder.appending(path: "film.mp4").path }

    private var quick: ResumableUpload.Options {
        var options = ResumableUpload.Options()
        options.retries.backoff = Retry.Backoff(base: .milliseconds(20))
        return options
    }

    /// Cancels an upload when a part of it was sent, and returns its token.
    private func interrupted(
        _ work:
            @escaping @Sendable (RequestOptions, @escaping @Sendable (ResumableUpload.Progress) -> Void) async throws
            -> Void
    ) async throws -> UploadToken {
        var options = RequestOptions()
        options.rateLimit = RateLimit(sending: .mebibytes(8))
        let slow = options
        let (moments, moment) = AsyncStream.makeStream(of: Void.self)
        let task = Task { try await work(slow) { progress in if progress.sent > 6_000_000 { moment.yield() } } }
        for await _ in moments { break }
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        return try #require(error?.uploadToken)
    }

    @Test("NIOResumableUpload accepts a file in one request, and the rest of an interrupted upload")
    func nio() async throws {
        let server = try await NIOUploadServer.start()
        let http = try HTTPSession(chain: .bare)
        let whole = try await http.upload(
            file: path, to: .raw(server.url("/whole")), resumable: .automatic, upload: quick)
        #expect(try await whole.text() == "kept")
        #expect(server.received["/whole"] == bytes)
        let url = server.url("/parts")
        let token = try await interrupted { [path, quick] options, progress in
            let response = try await http.upload(
                file: path, to: .raw(url), resumable: .ietf, upload: quick, options: options, progress: progress)
            await response.discard()
        }
        var options = quick
        options.token = token
        let sent = Mutex<[Int64]>([])
        let rest = try await http.upload(file: path, to: .raw(url), resumable: .ietf, upload: options) { progress in
            sent.withLock { $0.append(progress.confirmed) }
        }
        await rest.discard()
        #expect(server.received["/parts"] == bytes)
        #expect(sent.withLock { $0.first { $0 > 0 } ?? 0 } > 0, "the server had some of it")
        await http.shutdown()
        try await server.shutdown()
    }

    @Test(
        "tuspyserver accepts a file, the rest of an interrupted upload, and a file in parts",
        .enabled(if: OtherServers.isThere))
    func tus() async throws {
        let servers = try await OtherServers.start()
        let http = try HTTPSession(chain: .bare)
        let target = servers.tus + "/files"
        func stored(_ token: UploadToken?) async throws -> OtherServers.Stored {
            let name = try #require(token?.uri?.path.split(separator: "/").last)
            return try await http.get(.raw("\(servers.tus)/stored/\(name)"), as: OtherServers.Stored.self)
        }
        let tokens = Mutex<UploadToken?>(nil)
        var options = quick
        options.metadata = ["filename": "film.mp4", "filetype": "video/mp4"]
        options.keepToken = { token in tokens.withLock { $0 = token } }
        let whole = try await http.upload(file: path, to: .raw(target), resumable: .automatic, upload: options)
        await whole.discard()
        #expect(try await stored(tokens.withLock { $0 }).sha256 == servers.sha256(of: path))
        #expect(tokens.withLock { $0?.expires } != nil)
        let keeping = options
        let token = try await interrupted { [path] options, progress in
            let response = try await http.upload(
                file: path, to: .raw(target), resumable: .tus, upload: keeping, options: options, progress: progress)
            await response.discard()
        }
        options.token = token
        let rest = try await http.upload(file: path, to: .raw(target), resumable: .tus, upload: options)
        await rest.discard()
        #expect(try await stored(token).sha256 == servers.sha256(of: path))
        options.token = nil
        options.parallelParts = 3
        // The server answers OPTIONS at this path.
        let final = try await http.upload(file: path, to: .raw(target + "/"), resumable: .automatic, upload: options)
        let location = try #require(final.fields[.location]?.split(separator: "/").last)
        await final.discard()
        let object = try await http.get(
            .raw("\(servers.tus)/stored/\(location)"), as: OtherServers.Stored.self)
        #expect(try object.sha256 == servers.sha256(of: path))
        // An abandoned upload is deleted on the server.
        let given = try await interrupted { [path, quick] options, progress in
            let response = try await http.upload(
                file: path, to: .raw(target), resumable: .tus, upload: quick, options: options, progress: progress)
            await response.discard()
        }
        try await http.discard(given)
        options = quick
        options.token = given
        options.restarts = 0
        let gone = options
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, to: .raw(target), resumable: .tus, upload: gone)
        }
        #expect([404, 410].contains(error?.response?.status.code))
        await http.shutdown()
        servers.stop()
    }

    @Test(
        "moto accepts a file in parts by presigned URLs, and the rest of an interrupted upload",
        .enabled(if: OtherServers.isThere))
    func moto() async throws {
        let servers = try await OtherServers.start()
        let http = try HTTPSession(chain: .bare)
        let base = servers.tus
        struct Presigned: Decodable { let url: String }
        var multipart = MultipartUpload { step in
            let reference =
                switch step {
                case .create: "create"
                case .part(let number, let upload): "part?number=\(number)&upload=\(upload)"
                case .complete(let upload): "complete?upload=\(upload)"
                case .abort(let upload): "abort?upload=\(upload)"
                }
            return try await http.get(.raw("\(base)/presign/\(reference)"), as: Presigned.self).url
        }
        multipart.partSize = .mebibytes(5)
        multipart.parallelParts = 2
        let parts = multipart
        let receipt = try await http.upload(file: path, multipart: multipart, upload: quick)
        #expect(receipt.entityTag?.hasSuffix("-3\"") == true)
        let object = try await http.get(.raw("\(base)/object"), as: OtherServers.Stored.self)
        #expect(try object.length == bytes.count && object.sha256 == servers.sha256(of: path))
        let token = try await interrupted { [path, quick] options, progress in
            var one = parts
            one.parallelParts = 1
            _ = try await http.upload(
                file: path, multipart: one, upload: quick, options: options, progress: progress)
        }
        #expect(token.offset >= 5 << 20)
        try Data(bytes).write(to: URL(filePath: folder.appending(path: "other").path))
        var options = quick
        options.token = token
        _ = try await http.upload(file: path, multipart: multipart, upload: options)
        let again = try await interrupted { [path, quick] options, progress in
            _ = try await http.upload(
                file: path, multipart: parts, upload: quick, options: options, progress: progress)
        }
        struct Count: Decodable { let count: Int }
        #expect(try await http.get(.raw("\(base)/uploads"), as: Count.self).count == 1)
        try await http.discard(again, multipart: multipart)
        #expect(try await http.get(.raw("\(base)/uploads"), as: Count.self).count == 0)
        await http.shutdown()
        servers.stop()
    }
}

/// The servers of `.ci/upload-servers.py`.
final class OtherServers: Sendable {
    struct Stored: Decodable {
        let length: Int
        let sha256: String
    }

    private static var python: String? { ProcessInfo.processInfo.environment["CURLEW_UPLOAD_SERVERS"] }
    /// True if `make test-uploads` has installed the servers.
    static var isThere: Bool { python != nil }

    let tus: String
    private let process: Mutex<Process>
    private let input: Pipe

    private init(_ process: sending Process, _ input: Pipe, _ tus: String) {
        self.process = Mutex(process)
        self.input = input
        self.tus = tus
    }

    static func start() async throws -> OtherServers {
        let process = Process()
        process.executableURL = URL(filePath: python ?? "")
        let script = URL(filePath: #filePath).appending(path: "../../../../.ci/upload-servers.py").standardized
        process.arguments = [script.path]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line: [UInt8] = []
        while line.last != 0x0A {
            guard let piece = try output.fileHandleForReading.read(upToCount: 1), !piece.isEmpty else { break }
            line += piece
        }
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2 else { throw CurlewError(.unsupported, "the servers do not start") }
        return OtherServers(process, input, String(words[0]))
    }

    func sha256(of path: String) throws -> String {
        let sum = Process()
        sum.executableURL = URL(filePath: "/usr/bin/sha256sum")
        sum.arguments = [path]
        let output = Pipe()
        sum.standardOutput = output
        try sum.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        sum.waitUntilExit()
        return String(String(decoding: data, as: UTF8.self).prefix(64))
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.withLock { $0.waitUntilExit() }
    }
}
