import Testing

@testable import Curlew

@Suite("Parameters of fields")
struct FieldParametersTests {
    @Test(
        "a parameter is found, quoted or not",
        arguments: [
            ("multipart/mixed; boundary=abc", "abc"), ("multipart/mixed;boundary=abc", "abc"),
            ("multipart/mixed ; BOUNDARY = \"a b;c\" ; x=y", "a b;c"), ("m/m; x=\"boundary=1\"; boundary=2", "2"),
            ("m/m; boundary=\"a\\\"b\\\\c\"", "a\"b\\c"), ("m/m; boundary=\"C:\\new\"", "C:\\new"),
            ("m/m; boundary=\"open", "open"), ("m/m;; ;boundary=1;boundary=2", "1"), ("m/m; boundary=", ""),
            ("m/m; boundary", nil), ("m/m", nil), ("", nil), ("boundary=1", nil), ("m/m; =boundary", nil),
            ("m/m; boundary=\"a\" junk; x", "a"),
        ] as [(String, String?)])
    func find(_ text: String, _ boundary: String?) { #expect(FieldParameters(text)["boundary"] == boundary) }

    @Test(
        "extended values are decoded, or passed over",
        arguments: [
            ("x; filename*=UTF-8''%C3%A9%20a", "é a"), ("x; filename*=utf-8'en'a", "a"), ("x; filename*=UTF-8''", ""),
            ("x; filename*=ISO-8859-1''%E9", nil), ("x; filename*=UTF-8''%E9", nil), ("x; filename*=UTF-8''%e", nil),
            ("x; filename*=UTF-8''%zz", nil), ("x; filename*=plain", nil), ("x; filename=a", nil),
        ] as [(String, String?)])
    func extended(_ text: String, _ name: String?) { #expect(FieldParameters(text).extended("filename") == name) }

    @Test("what is written is read again", arguments: ["a", "", "a b", "\"", "\\", "é", "a;b=c"])
    func written(_ value: String) {
        #expect(FieldParameters("m/m; " + FieldParameters.written("x", value))["x"] == value)
    }
}
