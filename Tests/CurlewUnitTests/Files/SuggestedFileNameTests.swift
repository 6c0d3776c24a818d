import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Suggested file names")
struct SuggestedFileNameTests {
    @Test(
        "a suggested name becomes a plain, visible file name that is safe on every system",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"),
            ("C:\\Windows\\system.ini", "system.ini"), ("..\\..\\a.exe", "a.exe"), ("a/b\\c/d.txt", "d.txt"),
            ("a/", "a"), ("C:evil.txt", "C_evil.txt"), (".bashrc", "bashrc"), ("...x", "x"), (". .x", "x"),
            ("x.", "x"), ("x. . ", "x"), (" x ", "x"), ("a\u{A0}", "a"), ("a\u{0}b", "ab"), ("a\u{0}/b", "b"),
            ("a\r\nb\tc", "abc"), ("\u{7F}\u{85}a", "a"), ("photo\u{202E}gpj.exe", "photogpj.exe"),
            ("a\u{2066}b\u{2069}\u{200F}", "ab"), ("\u{FEFF}.\u{200B}.x", "x"), ("a\u{2028}b", "ab"),
            ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("CON", "_CON"), ("con.txt", "_con.txt"),
            ("nul .tar.gz", "_nul .tar.gz"),
            ("COM1", "_COM1"), ("com¹.a", "_com¹.a"), ("LPT0", "_LPT0"), ("COM10", "COM10"), ("CONSOLE", "CONSOLE"),
            ("conin$", "_conin$"), ("a<b>c\"d|e?f*g", "a_b_c_d_e_f_g"), ("naïve 日本.txt", "naïve 日本.txt"),
            ("/\u{301}etc", "\u{301}etc"), ("..\u{301}", "\u{301}"), ("a/\u{20D2}b", "\u{20D2}b"),
            ("x:stream", "x_stream"), ("~", "~"), ("archive.tar.gz", "archive.tar.gz"),
        ])
    func sanitized(_ text: String, _ name: String) throws {
        let made = try #require(SuggestedFileName.sanitized(text))
        #expect(Array(made.unicodeScalars) == Array(name.unicodeScalars))
        #expect(SuggestedFileName.sanitized(made) == made)
    }

    @Test(
        "a name without any safe character is refused",
        arguments: [
            "", ".", "..", "...", "/", "\\", "../", "./..", " ", ". . .", "\u{0}", "\u{202E}", "\u{2028}.\u{A0}",
        ])
    func empty(_ text: String) { #expect(SuggestedFileName.sanitized(text) == nil) }

    @Test(
        "a long name is truncated between characters, and keeps its extension",
        arguments: [
            (String(repeating: "a", count: 300) + ".txt", String(repeating: "a", count: 251) + ".txt"),
            (String(repeating: "a", count: 300), String(repeating: "a", count: 255)),
            (String(repeating: "é", count: 200) + ".tar.gz", String(repeating: "é", count: 124) + ".tar.gz"),
            (String(repeating: "👩‍👩‍👧", count: 20) + ".p", String(repeating: "👩‍👩‍👧", count: 14) + ".p"),
            (String(repeating: "a", count: 254) + " .b", String(repeating: "a", count: 253) + ".b"),
            (String(repeating: "a", count: 254) + " bc", String(repeating: "a", count: 254)),
            ("a." + String(repeating: "b", count: 300), "a." + String(repeating: "b", count: 253)),
            ("con" + String(repeating: " ", count: 300) + "x", "_con"),
            (
                "nul" + String(repeating: " ", count: 300) + "x.txt",
                "_nul" + String(repeating: " ", count: 247) + ".txt"
            ),
            ("e" + String(repeating: "\u{301}", count: 200), "e" + String(repeating: "\u{301}", count: 127)),
        ])
    func cut(_ text: String, _ name: String) {
        #expect(SuggestedFileName.sanitized(text) == name)
        #expect(name.utf8.count <= 255)
    }

    @Test(
        "a suggested name comes from Content-Disposition, else from the URI, else from the media type",
        arguments: [
            ("attachment; filename=a.txt", "http://x/b", "image/png", "a.txt"),
            ("attachment; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac.txt", "http://x/b", nil, "€.txt"),
            ("attachment; filename*=UTF-8''\u{301}b.txt", "http://x/c", nil, "\u{301}b.txt"),
            ("attachment; filename=\"..\"", "http://x/b", nil, "b"),
            ("attachment; filename*=UTF-8''a%01b%0A%7F.txt", "http://x/b", nil, "ab.txt"),
            ("attachment; filename*=UTF-8''%01; filename=c", "http://x/b", nil, "c"),
            ("inline", "http://x/b.html?q=/c#d", nil, "b.html"),
            (nil, "http://x/a%20b%2Fc.txt", nil, "c.txt"), (nil, "http://x/%2e%2e%2f%2e%2e%2fpasswd", nil, "passwd"),
            (nil, "http://x/folder/", nil, "folder"), (nil, "http://x/%E9t%E9", nil, "été"),
            (nil, "http://x/100%25%zz", nil, "100%%zz"), (nil, "http://x/%00a", nil, "a"),
            (nil, "http://x/", "image/jpeg", "download.jpg"),
            (nil, "http://x/..%2f..%2f", "text/plain", "download.txt"),
            (nil, "http://x", "application/octet-stream", "download"), (nil, "http://x", nil, "download"),
            (nil, "http://x", "application/problem+json", "download.json"),
            (nil, "http://x", "x/unheard-of", "download"),
            (nil, "http://x", "application/vnd.android.package-archive", "download.apk"),
        ] as [(String?, String, String?, String)])
    func sources(_ disposition: String?, _ uri: String, _ type: String?, _ name: String) throws {
        var fields = HTTPFields()
        fields[.contentDisposition] = disposition
        fields[.contentType] = type
        #expect(CurlewResponse(.ok, fields: fields, uri: try CurlewURI(uri)).suggestedFileName == name)
    }

    @Test(
        "a name consists of a stem and an extension",
        arguments: [
            ("a.txt", "a", ".txt"), ("a", "a", ""), (".a", ".a", ""), ("a.", "a.", ""), ("a.tar.gz", "a", ".tar.gz"),
            (".tar.gz", ".tar", ".gz"), ("a.b.c", "a.b", ".c"), ("", "", ""),
        ])
    func parts(_ name: String, _ stem: String, _ fileExtension: String) {
        let parts = FileName(name)
        #expect(parts.stem == stem && parts.fileExtension == fileExtension)
        #expect(parts.fitted(to: 255) == name)
        #expect(parts.fitted(to: 255, number: 3) == "\(stem) (3)\(fileExtension)")
    }
}
