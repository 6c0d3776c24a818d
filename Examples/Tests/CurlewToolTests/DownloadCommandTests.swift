import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import HTTPTypes
import Testing

@Suite("curlew download and upload", .timeLimit(.minutes(2)))
struct DownloadCommandTests {
    private let bytes = BytePattern.bytes(count: 300_000)

    private func site() async throws -> MockServer {
        let content = RangedContent(bytes, entityTag: "\"one\"")
        return try await MockServer.start { request in
            request.path.hasPrefix("/bird") ? content.response(to: request) : .notFound
        }
    }

    /// The requested ranges; an empty text for the full file.
    private func ranges(of server: MockServer) async -> [String] {
        var found: [String] = []
        for _ in 0..<server.requestCount { found.append(await server.takeRequest()?.fields[.range] ?? "") }
        return found
    }

    private func isWhole(_ path: String) -> Bool { FileManager.default.contents(atPath: path) == Data(bytes) }

    @Test(
        "files keep their names in a folder; stdout lists the paths, stderr shows progress line by line"
    )
    func folder() async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let tool = try ToolProcess(
            ["download", server.url("/bird.wav"), server.url("/bird.txt"), "-o", folder.path])
        let end = await tool.end()
        #expect(end.status == 0, "\(end.complaints)")
        #expect(folder.names == ["bird.txt", "bird.wav"])
        #expect(isWhole(folder.path("bird.wav")) && isWhole(folder.path("bird.txt")))
        #expect(
            end.output.split(separator: "\n").map(String.init) == [folder.path("bird.wav"), folder.path("bird.txt")])
        #expect(end.complaints.contains("bird.wav: 100 % 293.0 KiB of 293.0 KiB"))
        #expect(!end.complaints.contains("\u{1B}"))
        await server.shutdown()
    }

    @Test("a folder that is missing is an error that names --parents, before anything is fetched")
    func missingFolder() async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let words = ["download", server.url("/bird.wav"), "-o", folder.path("none/")]
        let refused = await (try ToolProcess(words)).end()
        #expect(refused.status == 23 && refused.complaints.contains("--parents makes it") && server.requestCount == 0)
        #expect(await (try ToolProcess(words + ["--parents"])).end().status == 0)
        #expect(isWhole(folder.path("none/bird.wav")))
        await server.shutdown()
    }

    @Test("two URLs that would have one name are refused before anything is fetched, and numbered with --rename")
    func oneName() async throws {
        let content = RangedContent(bytes, entityTag: "\"one\"")
        let server = try await MockServer.start { request in content.response(to: request) }
        let folder = try TemporaryFolder()
        let words = ["download", server.url("/a/bird.wav"), server.url("/b/bird.wav"), "-o", folder.path]
        let refused = await (try ToolProcess(words)).end()
        #expect(refused.status == 2 && server.requestCount == 0 && folder.names.isEmpty)
        #expect(refused.complaints.contains("would both be bird.wav; --rename numbers them."))
        let twice = await
            (try ToolProcess(["download", "--rename", server.url("/a"), server.url("/a"), "-o", folder.path])).end()
        #expect(twice.status == 2 && twice.complaints.contains("is there twice"))
        let numbered = await (try ToolProcess(words + ["--rename"])).end()
        #expect(numbered.status == 0, "\(numbered.complaints)")
        #expect(folder.names == ["bird (1).wav", "bird.wav"])
        await server.shutdown()
    }

    @Test(
        "a name of the server or of the URL stays in its folder",
        arguments: ["/..%2F..%2Fescaped", "/a/%2e%2e", "/.bashrc"])
    func traversal(path: String) async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentDisposition: "attachment; filename=\"../../escaped\""], body: "hello")
        }
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: false)
        _ = await (try ToolProcess(["download", server.url(path), "-o", folder.path("in")])).end()
        #expect(folder.names == ["in"])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("in"))
        #expect(names.count == 1 && names.allSatisfy { !$0.hasPrefix(".") })
        await server.shutdown()
    }

    @Test("standard output is no file for a download, and http:// is assumed")
    func standardOutput() async throws {
        let end = await (try ToolProcess(["download", "http://a.test/", "-o", "-"])).end()
        #expect(end.status == 2 && end.complaints.contains("'curlew URL' writes to standard output"))
        let server = try await site()
        let folder = try TemporaryFolder()
        let plain = await (try ToolProcess(["download", "127.0.0.1:\(server.port)/bird", "-o", folder.path])).end()
        #expect(plain.status == 0 && folder.names == ["bird"])
        await server.shutdown()
    }

    @Test("an error is written complete, after the bar, on every terminal", arguments: [40, 80, 120])
    func screens(columns: Int) async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let url = server.url("/a-recording-that-is-not-there.wav")
        let end = await
            (try ToolProcess(["download", server.url("/bird.wav"), url, "-o", folder.path], columns: columns)).end()
        #expect(end.status == 22)
        let lines = Screen.lines(end.output, width: columns)
        #expect(lines[0].hasPrefix("bird.wav ") && lines[0].contains("100 % 293.0 KiB"), "\(lines)")
        #expect(lines[1].hasPrefix("a-recording") && lines[1].hasSuffix(" failed"), "\(lines)")
        // The standard output is the same terminal.
        let rest = lines.dropFirst(2).filter { !$0.hasPrefix(folder.path.prefix(columns)) }.joined()
        let message = "curlew: unacceptable-status: the server answered 404 Not Found"
        let letters = { (text: String) in text.filter { !$0.isWhitespace } }
        #expect(letters(rest).contains(letters("(GET \(url))")) && letters(rest).contains("404"), "\(lines) \(message)")
        #expect(lines.allSatisfy { $0.count <= columns })
        await server.shutdown()
    }

    @Test("a failed download is reported, does not stop the others, and sets the exit status")
    func failing() async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let tool = try ToolProcess(["download", server.url("/none"), server.url("/bird"), "-o", folder.path])
        let end = await tool.end()
        #expect(end.status == 22)
        #expect(folder.names == ["bird"])
        #expect(end.complaints.contains("unacceptable-status"))
        await server.shutdown()
    }

    @Test("a download with the wrong hash leaves no file behind")
    func hash() async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let wrong = String(repeating: "0", count: 64)
        let tool = try ToolProcess(["download", server.url("/bird"), "-o", folder.path("bird"), "--sha256", wrong])
        let end = await tool.end()
        #expect(end.status != 0 && end.complaints.contains("digest-mismatch"))
        #expect(folder.names.isEmpty)
        await server.shutdown()
    }

    @Test(
        "Ctrl-C leaves a resume token and prints a hint, and the next run resumes the download",
        arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let server = try await site()
        try server.inject(Fault(.inResponseBody(after: 200_000), .stall))
        let folder = try TemporaryFolder()
        let words = ["download", server.url("/bird"), "-o", folder.path("bird")]
        let tool = try ToolProcess(words)
        // The lines show that the download has begun, and the part file shows its progress.
        try await eventually("200,000 bytes lie in the folder") { folder.contains(200_000) }
        tool.send(signal)
        let end = await tool.end()
        #expect(end.status == 130)
        #expect(end.complaints.contains("curlew: kept 195.3 KiB in \(folder.path)/.bird."))
        #expect(end.complaints.contains(".part, described by \(folder.path("bird.resume"))"))
        #expect(end.complaints.contains("to resume: curlew download --resume \(server.url("/bird")) -o "))
        #expect(folder.names.contains("bird.resume") && !folder.names.contains("bird"))
        let again = await (try ToolProcess(["download", "--resume"] + words.dropFirst())).end()
        #expect(again.status == 0, "\(again.complaints)")
        #expect(folder.names == ["bird"] && isWhole(folder.path("bird")))
        #expect(await ranges(of: server) == ["", "bytes=200000-"])
        await server.shutdown()
    }

    @Test("a resume token of another URL is not used, and its part file is removed")
    func otherURL() async throws {
        let server = try await site()
        try server.inject(Fault(.inResponseBody(after: 200_000), .stall))
        let folder = try TemporaryFolder()
        let tool = try ToolProcess(["download", server.url("/bird"), "-o", folder.path("bird")])
        try await eventually("200,000 bytes lie in the folder") { folder.contains(200_000) }
        tool.send(SIGINT)
        _ = await tool.end()
        let words = ["download", "--resume", server.url("/bird/2"), "-o", folder.path("bird")]
        #expect(await (try ToolProcess(words)).end().status == 0)
        #expect(folder.names == ["bird"] && isWhole(folder.path("bird")))
        #expect(await ranges(of: server) == ["", ""])
        await server.shutdown()
    }

    @Test("a file that only has the name of a token file is left unchanged")
    func noToken() async throws {
        let server = try await site()
        let folder = try TemporaryFolder()
        let path = folder.path("bird.resume")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let end = await (try ToolProcess(["download", server.url("/bird"), "-o", folder.path("bird")])).end()
        #expect(end.status != 0 && end.complaints.contains("invalid-resume-token"))
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8) && folder.names == ["bird.resume"])
        await server.shutdown()
    }

    @Test("a download without --resume starts again, and the old part file is removed")
    func anew() async throws {
        let server = try await site()
        try server.inject(Fault(.inResponseBody(after: 200_000), .stall))
        let folder = try TemporaryFolder()
        let words = ["download", server.url("/bird"), "-o", folder.path("bird")]
        let tool = try ToolProcess(words)
        try await eventually("200,000 bytes lie in the folder") { folder.contains(200_000) }
        tool.send(SIGINT)
        _ = await tool.end()
        #expect(await (try ToolProcess(words)).end().status == 0)
        #expect(folder.names == ["bird"] && isWhole(folder.path("bird")))
        #expect(await ranges(of: server) == ["", ""])
        await server.shutdown()
    }

    @Test(
        "an invalid command line is refused",
        arguments: [
            ["download"], ["download", "http://a/", "http://b/", "-o", "file"],
            ["download", "http://a/", "--segments", "17"],
            ["download", "http://a/", "--limit", "fast"], ["download", "http://a/", "--sha256", "12"],
            ["upload", "file"], ["upload", "file", "http://a/", "--form", "f", "--resumable"],
            ["upload", "file", "http://a/", "--token", "f"],
        ])
    func usage(words: [String]) async throws {
        let end = await (try ToolProcess(words)).end()
        #expect(end.status == 2)
        #expect(end.complaints.contains("Usage: curlew \(words[0])"))
    }

    @Test("a file is uploaded as a body or as a form, and the answer is printed")
    func upload() async throws {
        let server = try await MockServer.start { request in
            let body = try await request.body.collect()
            return MockResponse(body: .string("\(request.method) \(body.count) \(request.fields[.contentType] ?? "")"))
        }
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path("bird.wav")))
        let plain = await (try ToolProcess(["upload", folder.path("bird.wav"), server.url("/birds")])).end()
        #expect(plain.status == 0 && plain.output == "PUT 300000 audio/x-wav\n", "\(plain.complaints)")
        let form = await (try ToolProcess(["upload", folder.path("bird.wav"), server.url(), "--form", "sound"])).end()
        #expect(form.status == 0 && form.output.hasPrefix("POST 300") && form.output.contains("multipart/form-data"))
        let missing = await (try ToolProcess(["upload", folder.path("none"), server.url("/birds")])).end()
        #expect(missing.status != 0 && missing.complaints.contains("body-failed"))
        let part = await (try ToolProcess(["upload", folder.path("none"), server.url(), "--form", "sound"])).end()
        #expect(part.status != 0 && part.complaints.contains("none"))
        await server.shutdown()
    }

    @Test("an interrupted upload resumes", arguments: ["--resumable", "--protocol=tus", "--protocol=ietf"])
    func resumable(word: String) async throws {
        var faults = UploadServer.Faults()
        // Sent bytes are not visible at once; this fault makes sure that the first part has arrived.
        faults.breaks = [200_000]
        faults.statuses = [nil, 403]
        let server = try await UploadServer.start(word.hasSuffix("ietf") ? .draft(6) : .tus, faults)
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path("bird.wav")))
        let words = ["upload", folder.path("bird.wav"), server.url, word]
        let first = await (try ToolProcess(words)).end()
        #expect(first.status != 0 && folder.names == ["bird.wav", "bird.wav.upload"], "\(first.complaints)")
        let elsewhere = await (try ToolProcess(["upload", folder.path("bird.wav"), "http://a.test/", word])).end()
        #expect(elsewhere.status != 0 && elsewhere.complaints.contains("another upload"))
        let second = await (try ToolProcess(words)).end()
        #expect(second.status == 0, "\(second.complaints)")
        #expect(server.files == [bytes] && folder.names == ["bird.wav"])
        #expect(server.log.filter { $0.hasPrefix("POST") }.count == 1)
        await server.shutdown()
    }
}

extension TemporaryFolder {
    /// True if a part file contains this number of bytes.
    fileprivate func contains(_ count: Int) -> Bool {
        names.contains { name in
            let size = try? FileManager.default.attributesOfItem(atPath: path(name))[.size] as? Int
            return name.hasSuffix(".part") && size ?? 0 >= count
        }
    }
}
