import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("The names of parts")
struct ContentDispositionTests {
    @Test(
        "the name of a part is found, quoted or not",
        arguments: [
            ("form-data; name=abc", "abc"), ("form-data;NAME=\"a b;c\"", "a b;c"), ("x; a=\"name=1\"; name=2", "2"),
            ("form-data; name=\"a\\\"b\\\\c\"", "a\"b\\c"), ("form-data; name=\"open", "open"),
            ("form-data;; ;name=1;name=2", "1"), ("form-data; name=\"\"", ""), ("form-data; name=\"a%22b\"", "a%22b"),
            ("form-data; name", nil), ("form-data", nil), ("", nil), ("name=1", nil), ("x; =name", nil),
        ] as [(String, String?)])
    func name(_ text: String, _ name: String?) { #expect(ContentDisposition(text).name == name) }

    @Test(
        "a valid extended file name precedes a plain one",
        arguments: [
            ("x; filename=a; filename*=UTF-8''%C3%A9%20a", "é a"), ("x; filename*=utf-8'en'a", "a"),
            ("x; filename*=UTF-8''", nil), ("x; filename=a; filename*=ISO-8859-1'en'%E9", "é"),
            ("x; filename=a; filename*=UTF-16''%E9", "a"),
            ("x; filename=a; filename*=UTF-8''%E9", "a"), ("x; filename=a; filename*=UTF-8''%e", "a"),
            ("x; filename=a; filename*=UTF-8''%0D%0Ab", "b"), ("x; filename=a; filename*=UTF-8''%zz", "a"),
            ("x; filename*=plain", nil), ("x; filename=\"a b\"", "a b"), ("x; filename=a b.txt ; y=1", "a b.txt"),
            ("x; filename*=\"UTF-8''a%20b\"", "a b"), ("filename=a", "a"), ("FileName = a", "a"),
            ("x; filename=\"a\u{1}c.txt\"", "ac.txt"), ("x; filename=a\u{7F}\tc.txt; y=1", "a\tc.txt"),
            ("x; filename=b; filename*=UTF-8''a%01b%7F.txt", "ab.txt"), ("x; filename=a; filename*=UTF-8''%01", "a"),
            ("filename*=UTF-8''%41; filename=b", "A"), ("x; filename=\"open", "open"), ("x;filename=;filename=b", "b"),
        ] as [(String, String?)])
    func fileName(_ text: String, _ name: String?) { #expect(ContentDisposition(text).fileName == name) }

    @Test("raw bytes are UTF-8 if valid, else ISO-8859-1")
    func rawBytes() {
        let start = Array("x; filename=\"".utf8)
        #expect(ContentDisposition(start + [0xC3, 0xA9, 0x22]).fileName == "é")
        #expect(ContentDisposition(start + [0xE9, 0x2E, 0x61, 0x22]).fileName == "é.a")
        let field = HTTPField(name: .contentDisposition, lenientValue: start + [0xE9])
        #expect(ContentDisposition(of: HTTPFields([field]))?.fileName == "é")
        #expect(ContentDisposition(of: HTTPFields())?.fileName == nil)
    }
}
