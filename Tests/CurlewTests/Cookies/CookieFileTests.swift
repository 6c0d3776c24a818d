import CurlewTestingTraits
import Foundation
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The file of a cookie jar", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct CookieFileTests {
    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("cookies survive writing and reading")
    func roundTrip() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/cookies.txt"
        let jar = CookieJar { 1_700_000_000 }
        let uri = try CurlewURI("https://www.h.example/d/e")
        for field in [
            "a=1; domain=h.example; secure; httponly; max-age=100", "b=\"x y\"; path=/d", "c=a\tb", "d=", "nameless",
            "ü=ö; samesite=lax", "e\tf=not written", "g=not written; path=/a\tb",
        ] {
            #expect(jar.store(field, from: uri))
        }
        try await jar.save(to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text == """
                # Netscape HTTP Cookie File
                #HttpOnly_.h.example\tTRUE\t/d\tTRUE\t1700000100\ta\t1
                www.h.example\tFALSE\t/d\tFALSE\t0\tb\t"x y"
                www.h.example\tFALSE\t/d\tFALSE\t0\tc\ta\tb
                www.h.example\tFALSE\t/d\tFALSE\t0\td\t
                www.h.example\tFALSE\t/d\tFALSE\t0\t\tnameless
                www.h.example\tFALSE\t/d\tFALSE\t0\tü\tö

                """)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let other = CookieJar { 1_700_000_000 }
        let report = try await other.load(from: path)
        #expect(report.stored == 6 && report.skippedLines.isEmpty)
        #expect(other.cookies.dropLast() == jar.cookies.dropLast(3))
        let sent = try other.cookies(for: CurlewURI("https://www.h.example/d")).map { "\($0.name)=\($0.value)" }
        #expect(sent == ["a=1", "b=\"x y\"", "c=a\tb", "d=", "=nameless", "ü=ö"])
        // The file without session cookies replaces the existing file.
        try await jar.save(to: path, includesSessionCookies: false)
        let fewer = CookieJar { 1_700_000_000 }
        #expect(try await fewer.load(from: path).stored == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["cookies.txt"])
    }

    @Test("invalid lines are skipped and reported; comments and expired cookies are not reported")
    func brokenLines() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/cookies.txt"
        try write(
            """
            # a comment
            h.example\tFALSE\t/\tFALSE\t0\ta\t1\r

            nonsense
            #HttpOnly_h.example\tfalse\t/\tfalse\t0\tb\t2
            .h.example\tTRUE\t/\tFALSE\t0\tc
            h.example\tMAYBE\t/\tFALSE\t0\td\t1
            h.example\tFALSE\tx\tFALSE\t0\td\t1
            h.example\tFALSE\t/\tFALSE\t-1\td\t1
            h.example\tFALSE\t/\tFALSE\t99999999999999999999\td\t1
            h.example\tFALSE\t/\tFALSE\t1000\texpired\t1
            h.example\tFALSE\t/\tFALSE\t0\t\t
            /etc/passwd\tFALSE\t/\tFALSE\t0\td\t1
            h.example\tFALSE\t/\tFALSE\t0\td\t1;2
            h.example\tFALSE\t/\tFALSE\t0\t__Host-d\t1
            .co.uk\tTRUE\t/\tFALSE\t0\td\t1
            #HttpOnly_
            h.example\tFALSE\t/\tFALSE\t9223372036854775807\te\tlast line without an end
            """, to: path)
        let jar = CookieJar { 1000 }
        jar.set(try CookieJar.Cookie(name: "a", value: "old", domain: "h.example"))
        let report = try await jar.load(from: path)
        #expect(jar.cookies.map(\.name) == ["a", "b", "c", "e"])
        #expect(jar.cookies.map(\.value) == ["1", "2", "", "last line without an end"])
        #expect(report.skippedLines == [4, 7, 8, 9, 10, 12, 13, 14, 15, 17])
        #expect(report.stored == 4)
    }

    @Test("a file with more cookies than the jar's limit leaves the last ones, without delay")
    func tooMany() async throws {
        let folder = try ScratchFolder()
        let lines = (0..<20_000).map { "h\($0 / 10).example\tFALSE\t/\tFALSE\t0\tc\($0)\t1\n" }
        let path = try folder.write("cookies.txt", lines.flatMap { Array($0.utf8) })
        let jar = CookieJar()
        #expect(try await jar.load(from: path).stored == 20_000)
        #expect(jar.cookies.map(\.name) == (17_000..<20_000).map { "c\($0)" })
    }

    @Test("the report on a file without any cookie lists its first hundred lines")
    func nonsense() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/cookies.txt"
        try write(String(repeating: "{\"no\": \"cookies\"}\n", count: 1000), to: path)
        let report = try await CookieJar().load(from: path)
        #expect(report.stored == 0 && report.skippedLines == Array(1...100))
    }

    @Test("an unreadable or unwritable file is an error, and the jar stays unchanged")
    func failures() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/cookies.txt"
        try write(String(repeating: "#", count: 1001), to: path)
        let jar = CookieJar(limits: CookieJar.Limits(fileSize: 1000))
        jar.set(try CookieJar.Cookie(name: "a", value: "1", domain: "h.example"))
        for bad in ["/nowhere/at/all", folder.path, path, "/dev/zero"] {
            let error = await curlewError { try await jar.load(from: bad) }
            #expect(error?.code == .cookieFileFailed && error?.underlying is CurlewError)
        }
        for bad in ["/nowhere/at/all", folder.path, "/dev/null"] {
            let error = await curlewError { try await jar.save(to: bad) }
            #expect(error?.code == .cookieFileFailed && error?.underlying is CurlewError)
        }
        #expect(jar.cookies.map(\.name) == ["a"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["cookies.txt"])
    }
}
