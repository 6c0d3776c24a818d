import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Form parts from streams", .timeLimit(.minutes(1)))
struct FormStreamTests {
    @Test("a form with one part of unknown length has no length")
    func unknownLength() async throws {
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        #expect(form.length != nil)
        try form.append(.stream { chunks([[65], [66]]) }, name: "s")
        form.append("2", name: "b")
        #expect(form.length == nil && form.body.length == nil)
        #expect(form.body.isReplayable)
        #expect(try await form.text().contains("\r\n\r\nAB\r\n--B\r\n"))
    }

    @Test("a single-use part makes the form single-use, and sending it again a clear error")
    func oneShot() async throws {
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        try form.append(.once(length: 2, chunks([[65, 66]])), name: "s")
        let body = form.body
        #expect(!body.isReplayable)
        #expect(try await body.bytes().count == Int(try #require(form.length)))
        for again in [body, form.body] {
            let error = await curlewError { _ = try await again.bytes() }
            #expect(error?.code == .bodyNotReplayable)
        }
    }

    @Test(
        "a stream that yields more or less than announced fails, before an extra byte is sent",
        arguments: [([[1, 2], [3, 4]], 3), ([[1, 2]], 1), ([[1, 2]], 3), ([], 1), ([[1]], 0)] as [([[UInt8]], Int64)])
    func wrongLength(_ parts: [[UInt8]], _ promised: Int64) async throws {
        var form = try MultipartFormData.test()
        try form.append(.stream(length: promised) { chunks(parts) }, name: "s")
        form.append("behind", name: "b")
        let length = try #require(form.length)
        var sent: [UInt8] = []
        let error = await curlewError {
            for try await chunk in try await form.body.stream() { sent += chunk }
        }
        #expect(error?.code == .bodyLengthMismatch)
        #expect(error?.message.contains("part 1 (s)") == true)
        #expect(Int64(sent.count) < length)
        let head = "--B\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n"
        #expect(sent.count <= head.utf8.count + Int(promised))
    }

    @Test("a part that fails fails the body, with its error as the cause and its position in the message")
    func failsHalfway() async throws {
        struct Broken: Error {}
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        try form.append(.stream { failing(after: [1], Broken()) }, name: "b\r\n")
        form.append("2", name: "c")
        var sent: [UInt8] = []
        let error = await curlewError {
            for try await chunk in try await form.body.stream() { sent += chunk }
        }
        #expect(error?.code == .bodyFailed)
        #expect(error?.underlying is Broken)
        #expect(error?.message.hasPrefix("part 2 (b") == true)
        #expect(error?.message.utf8.contains(10) == false)
        #expect(sent.last == 1)
    }

    @Test(
        "a part with a line that begins with a custom boundary is an error, in any chunks",
        arguments: ["--B", "--B--\r\n", "--Bee", "x\r\n--B\r\ny", "x\n--B", "\r\n\r\n--B", "--\n--\n--B"])
    func boundaryInside(_ text: String) async throws {
        let bytes = Array(text.utf8)
        let folder = try ScratchFolder()
        let path = try folder.write("f", bytes)
        var forms: [MultipartFormData] = []
        for body in [CurlewRequest.Body.bytes(bytes), .file(path)]
            + (1...6).map({ size in
                CurlewRequest.Body.stream { chunks(pieces(of: bytes, size: size)) }
            })
        {
            var form = try MultipartFormData.test()
            form.append("1", name: "a")
            try form.append(body, name: "b")
            form.append("2", name: "c")
            forms.append(form)
        }
        for form in forms {
            var sent: [UInt8] = []
            let error = await curlewError {
                for try await chunk in try await form.body.stream() { sent += chunk }
            }
            #expect(error?.code == .bodyFailed)
            #expect(error?.message == "part 2 (b) of the form: a line of its body begins with the boundary of the form")
            #expect(
                String(decoding: sent, as: UTF8.self).split(separator: "\n--B", omittingEmptySubsequences: false).count
                    <= 2)
        }
    }

    @Test("a stream whose bytes resemble the form's generated boundary is sent", arguments: 1...6)
    func boundaryNearby(_ size: Int) async throws {
        let text = "x--B\r\n-\n--\r\n--b\r\n --B\r--B\n-\r\n-"
        var form = try MultipartFormData.test()
        form.append("", name: "a")
        form.append("B--B", name: "b")
        form.append(text, name: "c")
        try form.append(.stream { chunks(pieces(of: Array(text.utf8), size: size)) }, name: "d")
        form.append("B", name: "e")
        #expect(try await form.text().split(separator: text).count == 3)
    }

    @Test("a factory that throws fails the body like a part that fails")
    func factoryFails() async throws {
        struct Broken: Error {}
        var form = try MultipartFormData.test()
        try form.append(
            .stream { () async throws -> AsyncStream<[UInt8]> in throw Broken() }, name: "s")
        let error = await curlewError { _ = try await form.body.bytes() }
        #expect(error?.code == .bodyFailed)
        #expect(error?.underlying is Broken)
    }

    @Test("parts before a slow stream are sent at once, without reading ahead of the reader")
    func slowStream() async throws {
        let (stream, feed) = AsyncStream.makeStream(of: [UInt8].self)
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        try form.append(.once(stream), name: "s")
        var iterator = try await form.body.stream().makeAsyncIterator()
        let first = try #require(try await iterator.next(isolation: #isolation))
        #expect(String(decoding: first, as: UTF8.self).hasSuffix("name=\"s\"\r\n\r\n"))
        for byte in UInt8(65)...70 {
            feed.yield([byte])
            #expect(try await iterator.next(isolation: #isolation) == [byte])
        }
        feed.finish()
        #expect(try await iterator.next(isolation: #isolation) == Array("\r\n--B--\r\n".utf8))
        #expect(try await iterator.next(isolation: #isolation) == nil)
    }

    @Test("part lengths that are negative, or too large in total, are refused")
    func impossibleLengths() throws {
        var form = try MultipartFormData.test()
        for length in [-1, Int64.max, Int64.max / 2 + 1] {
            #expect { try form.append(.stream(length: length) { chunks([]) }, name: "s") } throws: {
                ($0 as? CurlewError)?.code == .invalidRequest
            }
        }
        try form.append(.stream(length: 1 << 60) { chunks([]) }, name: "s")
        try form.append(.stream(length: 1 << 60) { chunks([]) }, name: "s")
        #expect { try form.append(.stream(length: 1 << 62) { chunks([]) }, name: "s") } throws: {
            ($0 as? CurlewError)?.code == .invalidRequest
        }
        form.append("bytes are never too many", name: "a")
        #expect(form.count == 3)
    }

    @Test("a form can be a part of another form")
    func nested() async throws {
        var inner = try MultipartFormData(boundary: "inner")
        inner.append("1", name: "a")
        var form = try MultipartFormData.test()
        try form.append(inner.body, fields: [.contentType: inner.contentType])
        let text = try await form.text()
        #expect(form.length == Int64(text.utf8.count))
        #expect(
            text == """
                --B\r
                Content-Type: multipart/form-data; boundary=inner\r
                \r
                --inner\r
                Content-Disposition: form-data; name="a"\r
                \r
                1\r
                --inner--\r
                \r
                --B--\r\n
                """)
    }
}
