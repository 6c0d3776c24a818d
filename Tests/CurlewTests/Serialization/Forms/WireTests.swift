import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Requests with parameters, byte for byte", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct WireTests {
    private static let agent = "User-Agent: importer (Linux 6.1.0)\r\n"
    private static let languages = "Accept-Language: en;q=1, fr;q=0.9\r\n"
    private static let form = "Content-Type: application/x-www-form-urlencoded\r\n"

    private var base: HTTPRequestSerializer {
        HTTPRequestSerializer(
            defaultFields: [.userAgent: "importer (Linux 6.1.0)", .acceptLanguage: "en;q=1, fr;q=0.9"])
    }

    /// The bytes that `call` sends, with `PORT` in place of the server's port.
    private func wire(_ call: (HTTPSession) async throws -> CurlewResponse) async throws -> String {
        let (requests, report) = AsyncStream.makeStream(of: String.self)
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let length = head.firstMatch(of: /Content-Length: (\d+)\r\n/).flatMap { Int($0.1) } ?? 0
            let body = try await connection.readExactly(length)
            report.yield(head + String(decoding: body, as: UTF8.self))
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            // The client must send no further bytes.
            #expect(try await connection.drain() == 0)
        }
        var api = try makeSession(baseURL: server.url("/v1"))
        api.requestSerializer = base
        #expect(try await call(api).status == .ok)
        var sent: String?
        for await request in requests {
            sent = request
            break
        }
        let port = server.port
        await api.shutdown()
        await server.shutdown()
        return try #require(sent).replacing("127.0.0.1:\(port)", with: "HOST")
    }

    private func expect(
        _ line: String, _ fields: String, _ body: String = "", sourceLocation: SourceLocation = #_sourceLocation,
        _ call: (HTTPSession) async throws -> CurlewResponse
    ) async throws {
        let sent = try await wire(call)
        #expect(
            sent == "\(line) HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\n\(fields)\r\n\(body)",
            sourceLocation: sourceLocation)
    }

    @Test(
        "a query is sent with escaped pairs in order, before the fragment and after an existing query"
    )
    func query() async throws {
        let parameters: ParameterValue = [
            "who": ["name": "a b/é?"], "set": .set(["b", "a"]), "none": nil, "foo": "bar", "empty": [],
            "baz": [1, 2, 3],
            "list": [["k": true]],
        ]
        let written =
            "baz%5B%5D=1&baz%5B%5D=2&baz%5B%5D=3&foo=bar&list%5B%5D%5Bk%5D=1&none&set=a&set=b&who%5Bname%5D=a%20b/%C3%A9?"
        for method in ["GET", "DELETE"] {
            try await expect("\(method) /v1/x?own=1&\(written)", Self.agent + Self.languages) { api in
                try await api.send(
                    HTTPRequest.Method(method)!, "x?own=1#part", parameters: RequestParameters(parameters))
            }
        }
        for serializer: any RequestSerializer in [
            JSONRequestSerializer(base: base), PropertyListRequestSerializer(base: base),
        ] {
            try await expect("GET /v1/x?\(written)", Self.agent + Self.languages) { api in
                try await api.get("x", parameters: RequestParameters(parameters), encoding: .serializer(serializer))
            }
        }
        try await expect("GET /v1/x", Self.agent + Self.languages) { try await $0.get("x", parameters: [:]) }
    }

    @Test("a form is sent as the body, empty without parameters, and by DELETE on request")
    func form() async throws {
        let fields = Self.agent + Self.languages + Self.form
        try await expect("POST /v1/x", fields + "Content-Length: 17\r\n", "page=2&text=a%20b") { api in
            try await api.post("x", parameters: ["text": "a b", "page": 2])
        }
        try await expect("PUT /v1/x", fields + "Content-Length: 0\r\n") {
            try await $0.put("x", parameters: .none, encoding: .form)
        }
        try await expect("DELETE /v1/x", fields + "Content-Length: 3\r\n", "k=v") { api in
            try await api.delete("x", parameters: ["k": "v"], encoding: .form)
        }
    }

    @Test("Basic credentials are sent, and a call's fields replace the serializer's")
    func fields() async throws {
        var serializer = base
        try serializer.setAuthorization(user: "Aladdin", password: "open sesame")
        let authorization = "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
        try await expect("GET /v1/x", Self.agent + Self.languages + authorization) { [serializer] api in
            try await api.get("x", parameters: nil, encoding: .serializer(serializer))
        }
        try await expect("GET /v1/x", "User-Agent: mine\r\n" + Self.languages) { api in
            try await api.get("x", encoding: .query, fields: [.userAgent: "mine"])
        }
    }

    @Test("the pairs that a custom encoder returns are sent as the query or the form")
    func ownQuery() async throws {
        var serializer = base
        serializer.queryEncoder = { _, _ in "a;b" }
        try await expect("GET /v1/x?a;b", Self.agent + Self.languages) { [serializer] api in
            try await api.get("x", parameters: ["k": 1], encoding: .serializer(serializer))
        }
        let fields = Self.agent + Self.languages + Self.form + "Content-Length: 3\r\n"
        try await expect("POST /v1/x", fields, "a;b") { [serializer] api in
            try await api.post("x", parameters: ["k": 1], encoding: .serializer(serializer))
        }
    }

    @Test("JSON is sent with its type, and without parameters there is no body")
    func json() async throws {
        let serializer = JSONRequestSerializer(base: base)
        let text = #"{"b":[1,null,"\/é"],"a":{"k":false}}"#
        let fields = Self.agent + Self.languages + "Content-Type: application/json\r\nContent-Length: 37\r\n"
        try await expect("POST /v1/x", fields, text) { api in
            try await api.post(
                "x", parameters: .tree(["b": [1, nil, "/é"], "a": ["k": false]]), encoding: .serializer(serializer))
        }
        try await expect("POST /v1/x", Self.agent + Self.languages + "Content-Length: 0\r\n") { api in
            try await api.post("x", parameters: nil, encoding: .serializer(serializer))
        }
    }

    @Test("a property list is sent with its type")
    func propertyList() async throws {
        let serializer = PropertyListRequestSerializer(base: base)
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>a</key>
            \t<array>
            \t\t<integer>1</integer>
            \t\t<true/>
            \t\t<string>&lt;</string>
            \t</array>
            </dict>
            </plist>

            """
        let fields = Self.agent + Self.languages + "Content-Type: application/x-plist\r\n"
        try await expect("POST /v1/x", fields + "Content-Length: \(text.utf8.count)\r\n", text) { api in
            try await api.post("x", parameters: .tree(["a": [1, true, "<"]]), encoding: .serializer(serializer))
        }
    }

    @Test("a multipart form is sent part by part")
    func multipart() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("note.txt", Array("a note".utf8))
        let body = """
            --B\r
            Content-Disposition: form-data; name="bird[name]"\r
            \r
            curlew\r
            --B\r
            Content-Disposition: form-data; name="none"\r
            \r
            \r
            --B\r
            Content-Disposition: form-data; name="file"; filename="note.txt"\r
            Content-Type: text/plain\r
            \r
            a note\r
            --B\r
            Content-Disposition: form-data; name="raw"\r
            \r
            1\r
            --B--\r

            """
        let fields = Self.agent + Self.languages + "Content-Type: multipart/form-data; boundary=B\r\n"
        try await expect("POST /v1/x", fields + "Content-Length: \(body.utf8.count)\r\n", body) { api in
            var form = try MultipartFormData(boundary: "B")
            try form.append(file: path, name: "file")
            form.append("1", name: "raw")
            return try await api.send(
                .post, "x",
                parameters: RequestParameters(["none": nil, "bird": ["name": "curlew"]] as ParameterValue),
                encoding: .multipart(form))
        }
    }
}
