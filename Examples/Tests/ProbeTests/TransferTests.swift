import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@testable import Probe

@Suite("Downloads and uploads of files", .timeLimit(.minutes(2)))
struct TransferTests {
    /// A test's own folder.
    private final class Folder: Sendable {
        let path = TemporaryFile.freePath("folder")

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        /// The names of the folder's contents.
        var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

        func bytes(_ name: String) -> [UInt8]? {
            FileManager.default.contents(atPath: "\(path)/\(name)").map { Array($0) }
        }

        func download(_ more: String = "") -> String {
            #""download":{"to":"\#(path)/file"\#(more.isEmpty ? "" : ","+more)}"#
        }
    }

    @Test("a download writes a file, and answers with the file and the response")
    func download() async throws {
        let folder = try Folder()
        let server = try await MockServer.start { request in
            guard request.path == "/file" else {
                return MockResponse(status: .found, fields: [.location: "/file?" + request.path])
            }
            return MockResponse(
                fields: [.eTag: "\"1\""], body: .string(request.fields[HTTPField.Name("X-Own")!] ?? "-"))
        }
        let answer = try await ProbeDriver().fetch(
            server.url(), folder.download() + #","parameters":{"a":1},"headers":[["X-Own","hello"]]"#)
        #expect(answer.string("file") == "\(folder.path)/file", "\(answer)")
        #expect(answer["status"] == .integer(200) && answer["redirects"] == .integer(1) && answer["body"] == nil)
        #expect(try folder.names == ["file"])
        #expect(folder.bytes("file") == Array("hello".utf8))
        #expect(await server.takeRequest()?.target == "/?a=1")
        await server.shutdown()
    }

    @Test("a download is answered with its metrics and progress, after a failure too")
    func figures() async throws {
        let folder = try Folder()
        let bytes = [UInt8](repeating: 7, count: 300_000)
        let server = try await MockServer.start { request in
            if request.path == "/no" { return MockResponse(status: .notFound, body: "why") }
            return RangedContent(bytes, entityTag: "\"1\"").response(to: request)
        }
        try server.inject(Fault(.inResponseBody(after: 100_000), .close))
        let answer = try await ProbeDriver().fetch(server.url(), folder.download(#""resumes":2"#))
        #expect(folder.bytes("file") == bytes, "\(answer)")
        let metrics = try #require(answer["metrics"])
        #expect(metrics["attempts"] == .integer(2) && metrics.number("total") != nil, "\(metrics)")
        #expect(try #require(metrics.number("received")) >= 300_000)
        guard case .array(let steps) = answer["progress"] else { throw CancellationError() }
        #expect(steps.last == .array([.integer(300_000), .integer(300_000)]), "\(steps)")
        let refused = try await ProbeDriver().fetch(server.url("/no"), #""download":{"to":"\#(folder.path)/no"}"#)
        #expect(refused.code == "unacceptable-status" && refused["metrics"]?["attempts"] == .integer(1), "\(refused)")
        #expect(refused["progress"] != nil)
        await server.shutdown()
    }

    @Test("a download never overwrites a file")
    func existing() async throws {
        let folder = try Folder()
        try Data("old".utf8).write(to: URL(fileURLWithPath: folder.path + "/file"))
        let server = try await MockServer.start { _ in MockResponse(body: "new") }
        #expect(try await ProbeDriver().fetch(server.url(), folder.download()).code == "file-exists")
        #expect(folder.bytes("file") == Array("old".utf8))
        #expect(try folder.names == ["file"])
        await server.shutdown()
    }

    @Test("a refused status leaves no file, and its response accompanies the error", arguments: [404, 500, 304])
    func refused(_ status: Int) async throws {
        let folder = try Folder()
        let body: MockResponse.Body = status == 304 ? .none : "why"
        let server = try await MockServer.start { _ in
            MockResponse(status: HTTPResponse.Status(code: status), fields: [.eTag: "\"1\""], body: body)
        }
        let answer = try await ProbeDriver().fetch(server.url(), folder.download())
        #expect(answer["status"] == .integer(status) && answer.code == "unacceptable-status", "\(answer)")
        #expect(answer.bodyText == (status == 304 ? "" : "why"))
        #expect(answer["headers"] != nil && answer["error"] != nil && answer["file"] == nil)
        #expect(try folder.names.isEmpty)
        await server.shutdown()
    }

    @Test("a broken transfer leaves no file, or only the part that its token resumes")
    func broken() async throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 >> 6) }
        let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: \(bytes.count)\r\n\r\n"
        let server = try await RawServer.start { connection in
            let request = String(decoding: try await connection.readHeadBytes(), as: UTF8.self).lowercased()
            guard let range = request.firstRange(of: "range: bytes=") else {
                return try await connection.write(Array(head.utf8) + bytes.prefix(100_000))
            }
            let start = Int(request[range.upperBound...].prefix { $0 != "-" }) ?? 0
            try await connection.write(
                "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Length: \(bytes.count - start)\r\n"
                    + "Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)\r\n\r\n")
            try await connection.write(Array(bytes[start...]))
        }
        let probe = ProbeDriver()
        let folder = try Folder()
        let plain = try await probe.fetch(server.url(), folder.download())
        #expect(plain.code == "response-truncated" && plain["file"] == nil, "\(plain)")
        #expect(try folder.names.isEmpty)
        let token = #""token":"\#(folder.path)/token""#
        #expect(try await probe.fetch(server.url(), folder.download(token)).code == "response-truncated")
        #expect(try folder.names.contains("token") && !folder.names.contains("file"))
        let whole = try await probe.fetch(server.url(), folder.download(token))
        #expect(whole.string("file") == "\(folder.path)/file" && whole["status"] == .integer(206), "\(whole)")
        #expect(folder.bytes("file") == bytes)
        #expect(try folder.names == ["file"])
        let other = try Folder()
        #expect(try await probe.fetch(server.url(), other.download(#""resumes":1"#)).string("file") != nil)
        #expect(other.bytes("file") == bytes)
        await server.shutdown()
    }

    @Test("segments fetch a large file over several connections")
    func segments() async throws {
        let content = RangedContent(BytePattern.bytes(count: 20 << 20), entityTag: "\"one\"")
        let server = try await MockServer.start { content.response(to: $0) }
        let folder = try Folder()
        let answer = try await ProbeDriver().fetch(server.url(), folder.download(#""segments":2"#))
        #expect(answer.string("file") != nil, "\(answer)")
        #expect(server.connectionCounts.accepted == 2)
        #expect(BytePattern.matches(try #require(folder.bytes("file"))[...], at: 0))
        await server.shutdown()
    }

    @Test("the digest is checked before the file is created")
    func digest() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        let folder = try Folder()
        let wrong = #""digest":"sha-256:\#(String(hello.reversed()))""#
        #expect(try await ProbeDriver().fetch(server.url(), folder.download(wrong)).code == "digest-mismatch")
        #expect(try folder.names.isEmpty)
        let right = #""digest":"sha-256:\#(hello)""#
        #expect(try await ProbeDriver().fetch(server.url(), folder.download(right)).string("file") != nil)
        await server.shutdown()
    }

    @Test("an upload sends its file by POST, with the media type of its name, and reports progress")
    func upload() async throws {
        let folder = try Folder()
        let path = folder.path + "/notes.json"
        try Data(#"{"a":1}"#.utf8).write(to: URL(fileURLWithPath: path))
        let server = try await MockServer.start { request in
            MockResponse(
                status: .created, fields: [.contentType: "application/json"],
                body: .bytes(try await request.body.collect()))
        }
        let answer = try await ProbeDriver().fetch(server.url(), #""upload":{"file":"\#(path)"},"as":"json""#)
        #expect(answer["status"] == .integer(201) && answer["value"]?["a"] == .integer(1), "\(answer)")
        guard case .array(let steps) = answer["progress"] else { return #expect(Bool(false), "\(answer)") }
        #expect(steps.last == .array([.integer(7), .integer(7)]))
        let request = try #require(await server.takeRequest())
        #expect(request.method == .post && request.fields[.contentType] == "application/json")
        #expect(
            try await ProbeDriver().fetch(server.url(), #""method":"PUT","upload":{"file":"/nowhere"}"#).code
                == "body-failed")
        await server.shutdown()
    }

    @Test(
        "a resumable upload continues after a lost connection, and in another process with its token",
        arguments: ["ietf", "tus", "automatic"])
    func resumable(name: String) async throws {
        let folder = try Folder()
        let path = folder.path + "/film"
        let bytes = BytePattern.bytes(count: 300_000)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var faults = UploadServer.Faults()
        faults.breaks = [100_000, nil]
        let server = try await UploadServer.start(name == "ietf" ? .draft(6) : .tus, faults)
        let fields = #""upload":{"file":"\#(path)","resumable":"\#(name)","token":"\#(folder.path)/token"}"#
        let answer = try await ProbeDriver().fetch(server.url, fields)
        let status: Int = name == "ietf" ? 200 : 204
        #expect(answer["status"] == .integer(status), "\(answer)")
        guard case .array(let steps) = answer["progress"] else { return #expect(Bool(false), "\(answer)") }
        #expect(steps.last == .array([.integer(300_000), .integer(300_000)]))
        #expect(server.files == [bytes])
        #expect(try folder.names == ["film"])
        await server.shutdown()
        var refusing = UploadServer.Faults()
        refusing.breaks = [100_000]
        refusing.statuses = [nil, 403, nil]
        let second = try await UploadServer.start(name == "ietf" ? .draft(6) : .tus, refusing)
        let refused = try await ProbeDriver().fetch(second.url, fields)
        #expect(refused.code == "unacceptable-status", "\(refused)")
        #expect(try folder.names == ["film", "token"])
        let rest = try await ProbeDriver().fetch(second.url, fields)
        #expect(rest["status"] == .integer(status), "\(rest)")
        #expect(second.files == [bytes] && second.log.filter { $0.hasPrefix("POST") }.count == 1)
        await second.shutdown()
    }
}
