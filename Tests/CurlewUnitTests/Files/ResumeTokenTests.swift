import FoundationEssentials
import Glibc
import HTTPTypes
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Resume tokens of downloads")
struct ResumeTokenTests {
    private static let hash = String(repeating: "a1", count: 32)

    private func json(_ changes: [String: String] = [:]) -> String {
        var parts: [String: String] = [
            "version": "1", "url": "\"https://a.test/f?q=1\"", "validator": "{\"entityTag\":\"\\\"x\\\"\"}",
            "total": "1000", "destination": "\"/tmp/f\"", "received": "[{\"start\":0,\"end\":10}]",
            "part": part(),
        ]
        parts.merge(changes) { $1 }
        return "{\(parts.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    private func part(path: String = "/tmp/.f.1.part", size: Int64 = 2000) -> String {
        """
        {"path":"\(path)","device":1,"node":2,"size":\(size),"modifiedSeconds":3,"modifiedNanoseconds":4}
        """
    }

    private func decode(_ text: String) throws -> ResumeToken {
        try JSONDecoder().decode(ResumeToken.self, from: Data(text.utf8))
    }

    @Test("the documented form of a token is read, and encodes to the same token")
    func form() throws {
        let received = "[{\"start\":0,\"end\":10,\"sha256\":\"\(Self.hash)\"},{\"start\":20,\"end\":1000}]"
        let token = try decode(json(["received": received, "finalURL": "\"https://b.test/g\""]))
        #expect(token.uri.description == "https://a.test/f?q=1" && token.finalURI?.description == "https://b.test/g")
        #expect(token.total == 1000 && token.receivedCount == 990)
        #expect(token.partPath == "/tmp/.f.1.part" && token.destination == "/tmp/f")
        #expect(token.validator.value == "\"x\"")
        #expect(try decode(String(decoding: JSONEncoder().encode(token), as: UTF8.self)) == token)
    }

    @Test("a token is read without its optional members")
    func absent() throws {
        let text = json().replacing("\"total\":1000,", with: "").replacing("\"destination\":\"/tmp/f\",", with: "")
        let token = try decode(text)
        #expect(token.total == nil && token.destination == nil && token.finalURI == nil)
    }

    @Test("a token of a file whose name begins with a combining mark is read")
    func combiningName() throws {
        let path = "/tmp/.\u{301}b.txt.1.part"
        let token = try decode(json(["part": part(path: path), "destination": "\"/tmp/\u{301}b.txt\""]))
        #expect(token.partPath.hasSameBytes(as: path))
    }

    @Test("a token with a date is read")
    func date() throws {
        let token = try decode(json(["validator": "{\"lastModified\":\"Sun, 06 Nov 1994 08:49:37 GMT\"}"]))
        #expect(token.validator.value == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(
        "a hostile token is an error",
        arguments: [
            ("version", "2"), ("version", "-1"), ("version", "\"1\""), ("url", "\"ftp://a.test/\""), ("url", "\"\""),
            ("url", "\"https://user:secret@a.test/\""), ("finalURL", "\"https://user@a.test/\""),
            ("validator", "{}"), ("validator", "{\"entityTag\":\"W/\\\"x\\\"\"}"),
            ("validator", "{\"entityTag\":\"x\"}"),
            ("validator", "{\"entityTag\":\"\\\"x\\r\\nA: b\\\"\"}"), ("validator", "{\"lastModified\":\"now\"}"),
            ("total", "-1"), ("total", "9"), ("total", "1e30"), ("destination", "\"f\""), ("destination", "\"\""),
            ("destination", "\"/tmp/f\\u0000\""), ("destination", "\"/tmp/.f.1.part\""),
            ("received", "[{\"start\":-1,\"end\":10}]"), ("received", "[{\"start\":10,\"end\":10}]"),
            ("received", "[{\"start\":10,\"end\":5}]"), ("received", "[{\"start\":0,\"end\":1001}]"),
            ("received", "[{\"start\":0,\"end\":10},{\"start\":9,\"end\":20}]"),
            ("received", "[{\"start\":20,\"end\":30},{\"start\":0,\"end\":10}]"),
            ("received", "[{\"start\":0,\"end\":9223372036854775807}]"),
            ("received", "[{\"start\":0,\"end\":99999999999999999999}]"),
            ("received", "[{\"start\":0,\"end\":10,\"sha256\":\"abc\"}]"), ("received", "{}"), ("part", "{}"),
        ])
    func hostile(_ key: String, _ value: String) {
        #expect(throws: (any Error).self) { try decode(json([key: value])) }
    }

    @Test(
        "a token is refused unless its part has an absolute path and the name of a part file",
        arguments: [
            "/home/me/.ssh/id_ed25519", "/etc/passwd", "relative/.f.1.part", "/tmp/f.part", "/tmp/.part",
            "/tmp/.f.1.part/",
            "/tmp/.f.part\\u0000", "/tmp/.f.1.part/\u{301}", "", "/\(String(repeating: "a", count: 4096))/.f.1.part",
        ])
    func paths(_ path: String) {
        #expect(throws: (any Error).self) { try decode(json(["part": part(path: path)])) }
    }

    @Test("a token is refused if its part is shorter than the received bytes")
    func size() throws {
        #expect(throws: (any Error).self) { try decode(json(["part": part(size: 9)])) }
        #expect(throws: (any Error).self) { try decode(json(["part": part(size: -1)])) }
        #expect(try decode(json(["part": part(size: 10)])).receivedCount == 10)
    }

    @Test(
        "a token without a total is refused unless it has one range, from the first byte",
        arguments: ["[{\"start\":5,\"end\":10}]", "[{\"start\":0,\"end\":5},{\"start\":7,\"end\":10}]"])
    func gapsWithoutEnd(_ received: String) throws {
        #expect(try decode(json(["received": received])).total == 1000)
        #expect(throws: (any Error).self) { try decode(json(["received": received, "total": "null"])) }
    }

    @Test("a token file that is not regular, or belongs to another user, is not read")
    func foreignFile() async throws {
        let folder = try ScratchFolder()
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        let pipe = await curlewError { _ = try await ResumeToken(contentsOf: folder.file("pipe")) }
        #expect(pipe?.code == .resumeTokenFileFailed)
        guard geteuid() == 0 else { return }
        let path = folder.file("token")
        try await decode(json()).write(to: path)
        #expect(chown(path, 65534, 65534) == 0)
        let error = await curlewError { _ = try await ResumeToken(contentsOf: path) }
        #expect(error?.code == .resumeTokenFileFailed)
    }

    @Test("more than 1,024 ranges are refused")
    func many() throws {
        func pieces(_ count: Int) -> String {
            "[\((0..<count).map { "{\"start\":\($0 * 2),\"end\":\($0 * 2 + 1)}" }.joined(separator: ","))]"
        }
        let large = ["total": "100000", "part": part(size: 100_000)]
        #expect(try decode(json(large.merging(["received": pieces(1024)]) { $1 })).receivedCount == 1024)
        #expect(throws: (any Error).self) { try decode(json(large.merging(["received": pieces(1025)]) { $1 })) }
    }

    @Test("a token with changed bytes is accepted or refused without a trap")
    func tampered() throws {
        var random = SeededNumbers(seed: 7)
        let bytes = Array(json(["received": "[{\"start\":0,\"end\":10,\"sha256\":\"\(Self.hash)\"}]"]).utf8)
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0...random.next(upTo: 3) {
                changed[random.next(upTo: changed.count)] = UInt8(random.next(upTo: 256))
            }
            if let token = try? JSONDecoder().decode(ResumeToken.self, from: Data(changed)) {
                #expect(token.receivedCount <= token.total ?? .max)
            }
        }
    }

    @Test("a token's file is complete and private to its owner, and an invalid file is an error")
    func file() async throws {
        let folder = try ScratchFolder()
        let token = try decode(json())
        let path = folder.file("token")
        try await token.write(to: path, synchronizes: true)
        #expect(try await ResumeToken(contentsOf: path) == token)
        #expect(folder.names == ["token"])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        for text in ["", "{", "[]", "{\"version\":1}"] {
            try folder.write("token", Array(text.utf8))
            let error = await curlewError { _ = try await ResumeToken(contentsOf: path) }
            #expect(error?.code == .invalidResumeToken)
        }
        try folder.write("token", [UInt8](repeating: 0x20, count: 2 << 20))
        #expect(await curlewError { _ = try await ResumeToken(contentsOf: path) }?.code == .resumeTokenFileFailed)
        let missing = await curlewError { _ = try await ResumeToken(contentsOf: folder.file("none")) }
        #expect(missing?.code == .resumeTokenFileFailed)
        let unwritable = await curlewError { try await token.write(to: folder.file("none/token")) }
        #expect(unwritable?.code == .resumeTokenFileFailed)
    }
}
