import CurlewJSON
import Testing

@Suite("Errors of JSON")
struct JSONFailureTests {
    @Test("a reading error has the reason, and the position in the text as UTF-8")
    func reading() {
        let text = "{\n \"é\": tru }"
        for bytes in [
            Array(text.utf8), [0xEF, 0xBB, 0xBF] + Array(text.utf8),
            text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] },
        ] {
            let error = #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: bytes) }
            #expect(error?.code == .decodingFailed && error?.reason == "there is no value")
            #expect(error?.position?.offset == 9 && error?.position?.line == 2 && error?.position?.column == 8)
            #expect(error?.path == nil && error?.underlying == nil)
            #expect(error?.description == "there is no value, at line 2, column 8")
        }
    }

    @Test("the error for invalid UTF-8 has no position")
    func bytes() {
        let error = #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
        #expect(error?.position == nil && error?.description == "the bytes are not valid UTF-8")
    }

    @Test("a writing error has the path of the value")
    func writing() {
        let error = #expect(throws: JSONCoding.Failure.self) { try JSONCoding().encode(["a": [1, Double.nan]]) }
        #expect(error?.code == .encodingFailed && error?.path == "a[1]" && error?.position == nil)
        #expect(error?.description == "the value at a[1] is a number that is infinite or not a number")
        let whole = #expect(throws: JSONCoding.Failure.self) { try ParameterValue("text").json() }
        #expect(whole?.path == "")
        #expect(whole?.description == "the value must be a dictionary or a list, unless fragments are allowed")
    }

    @Test("the error of another encoder is the underlying error")
    func otherEncoder() {
        struct Refusing: JSONCoding.Encoder {
            func encode(json value: some Encodable) throws -> [UInt8] { throw CancellationError() }
        }
        let error = #expect(throws: JSONCoding.Failure.self) { try JSONCoding(encoder: Refusing()).encode(1) }
        #expect(error?.path == nil && error?.underlying is CancellationError)
        #expect(error?.description == "the value cannot be written as JSON")
    }
}
