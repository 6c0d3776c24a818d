import Curlew
import HTTPTypes
import TestHelpers
import Testing

@Suite("Text responses")
struct TextTests {
    private func read(
        _ bytes: [UInt8], type: String?, _ serializer: ResponseSerializers.Text = ResponseSerializers.Text()
    ) async throws -> String {
        try await serializer.serialize(stubResponse(type: type, bytes: bytes))
    }

    @Test(
        "a text is decoded by the charset of its Content-Type",
        arguments: [
            ("utf-8", [0xC3, 0xA9], "é"), ("UTF8", [0xC3, 0xA9], "é"), ("\"utf-8\"", [0xC3, 0xA9], "é"),
            ("iso-8859-1", [0xE9, 0x80], "é€"), ("latin1", [0xE9], "é"), ("'utf-8'", [0xC3, 0xA9], "é"),
            ("us-ascii", [0xE9], "é"), (" utf-8", [0xC3, 0xA9], "é"), ("windows-1251", [0xCF], "П"),
            ("Shift_JIS", [0x93, 0xFA], "日"), ("GB2312", [0xD6, 0xD0], "中"),
            ("windows-1252", [0x80, 0x93, 0x81], "€“\u{81}"),
            ("us-ascii", [0x61], "a"), ("utf-16le", [0xE9, 0], "é"), ("utf-16be", [0, 0xE9], "é"),
            ("utf-16", [0xE9, 0], "é"),
            ("utf-16", [0xFE, 0xFF, 0, 0xE9], "é"), ("utf-16", [0xFF, 0xFE, 0xE9, 0], "é"),
            ("utf-16le", [0xFF, 0xFE, 0xE9, 0], "é"), ("utf-32be", [0, 1, 0xF6, 0], "😀"),
            ("utf-32le", [0, 0xF6, 1, 0], "😀"),
            ("utf-32", [0, 0, 0xFE, 0xFF, 0, 1, 0xF6, 0], "😀"), ("utf-16", [0xFF, 0xFE, 0, 0], "\u{0}"),
            ("utf-16be", [0xD8, 0x3D, 0xDE, 0x00], "😀"),
        ] as [(String, [UInt8], String)])
    func charsets(_ charset: String, bytes: [UInt8], text: String) async throws {
        #expect(try await read(bytes, type: "text/plain; charset=\(charset)") == text)
    }

    @Test("a byte order mark overrides the charset, and UTF-8 is the default")
    func marks() async throws {
        #expect(try await read([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], type: "text/plain; charset=iso-8859-1") == "é")
        #expect(try await read([0xFF, 0xFE, 0xE9, 0], type: "text/plain; charset=utf-8") == "é")
        #expect(try await read([0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], type: nil) == "a")
        #expect(try await read([0xC3, 0xA9], type: nil) == "é")
        #expect(try await read([0xE9], type: nil, ResponseSerializers.Text(defaultEncoding: .latin1)) == "é")
        #expect(try await read([], type: "text/plain") == "")
        #expect(try await read([0xE9], type: nil, ResponseSerializers.Text(invalidBytes: .replace)) == "\u{FFFD}")
        let ascii = ResponseSerializers.Text(defaultEncoding: .ascii)
        #expect(await curlewError { _ = try await read([0xE9], type: nil, ascii) }?.code == .decodingFailed)
    }

    @Test(
        "an unknown charset is an error that names it, or is replaced by an encoding that the call sets",
        arguments: [("klingon", "klingon"), ("\"\"", ""), ("x\"y", "x\"y"), ("iso-2022-kr", "iso-2022-kr")])
    func unknown(_ charset: String, _ name: String) async throws {
        let type = "text/plain; charset=\(charset)"
        let error = await curlewError { _ = try await read([0x61], type: type) }
        #expect(error?.code == .decodingFailed)
        #expect((error?.underlying as? CurlewError)?.message == "the charset \"\(name)\" of the response is not known")
        #expect(try await read([0xE9], type: type, ResponseSerializers.Text(encodingIfUnknown: .windows1252)) == "é")
    }

    @Test(
        "invalid bytes are an error, or are replaced",
        arguments: [
            ("utf-8", [0x61, 0xFF], "a\u{FFFD}"), ("windows-1253", [0x61, 0xD2], "a\u{FFFD}"),
            ("utf-16le", [0x61, 0, 0], "a\u{FFFD}"), ("utf-16be", [0xD8, 0, 0, 0x61], "\u{FFFD}a"),
            ("utf-32be", [0, 0x11, 0, 0], "\u{FFFD}"), ("utf-32le", [0x61, 0, 0, 0, 0x62], "a\u{FFFD}"),
        ] as [(String, [UInt8], String)])
    func invalid(_ charset: String, bytes: [UInt8], repaired: String) async throws {
        let type = "text/plain; charset=\(charset)"
        #expect(await curlewError { _ = try await read(bytes, type: type) }?.code == .decodingFailed)
        #expect(try await read(bytes, type: type, ResponseSerializers.Text(invalidBytes: .replace)) == repaired)
    }

    @Test("text and bytes are accepted with any media type, and an error body is kept as text")
    func anyType() async throws {
        #expect(try await read([0x61], type: "image/png") == "a")
        #expect(try await ResponseSerializers.Bytes().serialize(stubResponse(type: nil, bytes: [1, 2])) == [1, 2])
        let error = await curlewError {
            _ = try await ResponseSerializers.Text().serialize(stubResponse(.notFound, type: "text/html", "<gone>"))
        }
        #expect(error?.failure(as: String.self) == "<gone>")
    }
}
