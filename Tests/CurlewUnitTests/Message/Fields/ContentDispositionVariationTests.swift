import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

/// RFC 6266 §4.1 with the implied white space of RFC 2616, and RFC 8187 §3.2: one field in all notations of the
/// grammars.
@Suite("Content-Disposition in every notation")
struct ContentDispositionVariationTests {
    private static let spaces = ["", " ", "\t", " \t "]

    @Test("white space, letter case, quotes and order have no effect")
    func spellings() {
        for before in Self.spaces {
            for after in Self.spaces {
                for separator in [";", "; ", " ;", " ; ", ";;"] {
                    for name in ["filename", "FileName", "FILENAME"] {
                        for value in ["x.pdf", "\"x.pdf\"", "\"x.p\\df\""] {
                            let member = "\(name)\(before)=\(after)\(value)"
                            for text in [
                                "attachment\(separator)\(member)", "\(member)",
                                "Attachment\(separator)a=b\(separator)\(member)",
                                "inline\(separator)\(member)\(separator)size\(before)=\(after)5",
                            ] { #expect(ContentDisposition(text).fileName == "x.pdf", "\(text)") }
                        }
                    }
                }
            }
        }
    }

    @Test("an extended name precedes a plain one in every order and notation")
    func extended() {
        for space in Self.spaces {
            for value in ["UTF-8''%E2%82%AC.txt", "utf-8'en-GB'%e2%82%ac.txt", "Utf-8'de'%E2%82%AC%2Etxt"] {
                let long = "filename*\(space)=\(space)\(value)"
                let short = "filename\(space)=\(space)\"EUR.txt\""
                for text in ["x; \(long)", "x; \(long); \(short)", "x; \(short); \(long)", "x;\(short) ;\(long);"] {
                    #expect(ContentDisposition(text).fileName == "€.txt", "\(text)")
                }
            }
        }
    }

    @Test(
        "an extended name that is empty or invalid leaves the plain one",
        arguments: [
            "UTF-8''", "''", "UTF-8'x", "''%41", "UTF-8''%E2%82", "UTF-8''%", "UTF-8''%4", "UTF-8''%00", "utf-7''a",
            "ISO-8859-1''%0A", "", "\"\"", "UTF-8''%C0%AF",
        ])
    func unreadable(_ value: String) {
        for space in Self.spaces {
            #expect(ContentDisposition("x; filename=a; filename*\(space)=\(space)\(value)").fileName == "a")
        }
    }

    @Test(
        "the first of several names applies, and an empty one is ignored",
        arguments: [
            ("x; filename=a; filename=b", "a"), ("x; filename = ; filename = b", "b"), ("x; filename; filename=b", "b"),
            ("x; filename *=UTF-8''a; filename=b", "b"), ("x; file name=a", nil),
            ("x; a b=\"c;filename=d\"", nil), ("x; filename=\"\"", ""),
            ("x; filename==a", "=a"), ("x; filename = \"a;b\" ; c", "a;b"), ("x; filename='a b'", "'a b'"),
        ] as [(String, String?)])
    func several(_ text: String, _ name: String?) { #expect(ContentDisposition(text).fileName == name) }

    @Test("file names are read correctly, whatever white space the field contains")
    func suggested() throws {
        for text in [
            "attachment; filename= \"x.pdf\"", "attachment; filename =\"x.pdf\"", "attachment; filename = x.pdf",
        ] {
            let response = CurlewResponse(
                .ok, fields: [.contentDisposition: text], uri: try CurlewURI("http://a.test/other"))
            #expect(response.suggestedFileName == "x.pdf")
        }
    }

    @Test("Content-Type has no white space around its equals sign")
    func contentType() {
        #expect(ContentType("text/plain; charset =utf-8")?["charset"] == nil)
        #expect(ContentType("text/plain;\tcharset=\"utf-8\" ")?["charset"] == "utf-8")
    }
}
