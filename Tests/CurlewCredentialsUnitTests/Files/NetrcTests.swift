import Curlew
import Foundation
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("netrc")
struct NetrcTests {
    struct Results: Decodable {
        struct Case: Decodable {
            var text: String
            var host: String
            var error: Int?
            var login: [String]?
        }

        var version: String
        var cases: [Case]
    }

    @Test("logins are the same as those of curl (Oracle/netrc.py)")
    func curl() throws {
        let cases = try Oracle.load("netrc.json", as: Results.self).cases
        #expect(cases.count > 400)
        for example in cases {
            guard example.error == nil else {
                #expect(throws: CurlewError.self, "\(example)") { try Netrc(Array(example.text.utf8)) }
                continue
            }
            let login = try Netrc(Array(example.text.utf8)).login(for: example.host)
            #expect(login.map { [$0.user, $0.password] } == example.login, "\(example)")
        }
    }

    func login(_ text: String, _ host: String = "a", user: String? = nil) throws -> [String]? {
        try Netrc(Array(text.utf8)).login(for: host, user: user).map { [$0.user, $0.password] }
    }

    @Test("entries of another user and entries without a password are skipped")
    func users() throws {
        let text = "machine a login u password p\nmachine a login v\nmachine a login v password q\nmachine b password r"
        #expect(try login(text, user: "u") == ["u", "p"])
        #expect(try login(text, user: "v") == ["v", "q"])
        #expect(try login(text, user: "w") == nil)
        #expect(try login(text, user: "") == ["u", "p"])
        #expect(try login(text, "b", user: "w") == ["w", "r"])
        #expect(try login("machine a login e\u{301} password p", user: "\u{E9}") == nil)
    }

    @Test("files that versions of curl read differently are read as by the latest version")
    func laterVersions() throws {
        #expect(try login("machine a login u password p login v password q") == ["v", "q"])
        #expect(try login("machine a login v\nmachine a login u password p") == ["v", ""])
        #expect(try login("machine a account password login u password p") == ["u", "p"])
        #expect(try login("machine a macdef x\ny\n\nlogin u password p") == nil)
        #expect(try login("machine a login u:v password p:q") == ["u:v", "p:q"])
        #expect(try login("machine a login é password ü") == ["é", "ü"])
    }

    @Test("the default entry matches every host, and hides the entries after it")
    func defaultEntry() throws {
        #expect(try login("default login d password e machine a login u password p") == ["d", "e"])
        #expect(try login("machine b login u password p default login d password e", "x") == ["d", "e"])
    }

    @Test("an IPv6 address is found with and without brackets")
    func addresses() throws {
        #expect(try login("machine ::1 login u password p", "[::1]") == ["u", "p"])
        #expect(try login("machine ::1 login u password p", "::1") == ["u", "p"])
    }

    @Test("an unterminated quote, a zero byte and too long text are errors that do not quote the file")
    func refusals() throws {
        let texts = [
            "machine a password \"SECRET", "machine a password \"SECRET\\", "machine a password SECRET\0",
            "machine a password SECRET" + String(repeating: "x", count: 4096),
            "machine a password SECRET" + String(repeating: " ", count: 16 << 10),
            "machine a password SECRET" + String(repeating: "\n", count: 128 << 10),
        ]
        for text in texts {
            let error = #expect(throws: CurlewError.self) { try Netrc(Array(text.utf8)) }
            #expect(error?.description.contains("SECRET") == false)
        }
        let longest = String(repeating: "x", count: 4095)
        #expect(try login("machine a password \(longest)") == ["", longest])
    }

    @Test("a login or a password that is not UTF-8 is refused, and not changed")
    func otherBytes() throws {
        for word in ["login", "password"] {
            let file = Array("machine a \(word) ".utf8) + [0x66, 0xFC]
            let error = #expect(throws: CurlewError.self) { try Netrc(file) }
            #expect(error?.code == .invalidCredential)
        }
        #expect(throws: Never.self) { try Netrc(Array("account ".utf8) + [0xFC]) }
    }

    @Test("descriptions of a file and of a login contain no passwords")
    func secrets() throws {
        let netrc = try Netrc(Array("machine a login u password SECRET".utf8))
        SecretCheck.expectNone(of: ["SECRET", "83, 69, 67"], in: netrc)
        SecretCheck.expectNone(of: ["SECRET"], in: try #require(netrc.login(for: "a")))
    }

    @Test("a file is read if only its owner may use it", arguments: [0o600, 0o400, 0o700])
    func file(_ mode: Int) throws {
        let folder = try ScratchFolder()
        let path = try folder.write("machine a login u password p", mode: mode)
        #expect(try Netrc(contentsOf: path).login(for: "a")?.user == "u")
    }

    @Test(
        "a file that other users may read or write is refused",
        arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666])
    func openFile(_ mode: Int) throws {
        let folder = try ScratchFolder()
        let path = try folder.write("machine a login u password p", mode: mode)
        let error = #expect(throws: CurlewError.self) { try Netrc(contentsOf: path) }
        #expect(error?.code == .credentialFileExposed)
    }

    @Test("a missing file, a folder, a pipe and a too large file are refused")
    func badFiles() throws {
        let folder = try ScratchFolder()
        let pipe = folder.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [folder.path + "/none", folder.path, pipe] {
            let error = #expect(throws: CurlewError.self) { try Netrc(contentsOf: path) }
            #expect(error?.code == .invalidCredential)
        }
        let large = try folder.write(String(repeating: " \n", count: 64 << 10) + " ", mode: 0o600)
        let error = #expect(throws: CurlewError.self) { try Netrc(contentsOf: large) }
        #expect(error?.code == .invalidCredential)
    }

    @Test("a file of secrets is replaced atomically, and only its owner may use it")
    func writing() throws {
        let folder = try ScratchFolder()
        let path = try folder.write("old", mode: 0o644)
        #expect(throws: CurlewError.self) { try SecretFile.read(path, limit: 100) }
        try SecretFile.write(Array("new".utf8), to: path)
        #expect(try SecretFile.read(path, limit: 100) == Array("new".utf8))
        try SecretFile.write([], to: path)
        #expect(try SecretFile.read(path, limit: 0).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        let error = #expect(throws: CurlewError.self) {
            try SecretFile.write([1], to: folder.path + "/none/file")
        }
        #expect(error?.code == .fileFailed)
    }
}
