import Curlew
import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@Suite("Expect: 100-continue", .timeLimit(.minutes(2)))
struct ExpectationTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private var options: RequestOptions {
        var options = RequestOptions()
        options.expectContinue = .seconds(20)
        return options
    }

    @Test("a body with an expectation is not sent before 100 (Continue)")
    func waits() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            #expect(head.lowercased().contains("expect: 100-continue\r\n"))
            try await connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await connection.readExactly(5) == Array("hello".utf8))
            try await connection.write(Self.ok)
        }
        let session = try makeSession()
        let response = try await session.post(.raw(server.url()), .body(.string("hello")), options: options)
        #expect(response.status == .ok)
    }

    @Test("a body with an expectation is sent after the wait limit without 100 (Continue)")
    func bounded() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            #expect(try await connection.readExactly(5) == Array("hello".utf8))
            try await connection.write(Self.ok)
        }
        var options = options
        options.expectContinue = .milliseconds(50)
        let response = try await makeSession().post(.raw(server.url()), .body(.string("hello")), options: options)
        #expect(response.status == .ok)
    }

    @Test("a request refused with 417 is sent once more, with its body and without the expectation")
    func refused() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            guard connection.index > 0 else {
                return try await connection.write("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
            }
            #expect(!head.lowercased().contains("expect"))
            #expect(try await connection.readExactly(5) == Array("hello".utf8))
            try await connection.write("HTTP/1.1 417 Again\r\nContent-Length: 0\r\n\r\n")
        }
        let body = CurlewRequest.Body.once(
            length: 5,
            AsyncStream<[UInt8]> {
                $0.yield(Array("hello".utf8))
                $0.finish()
            })
        let session = try makeSession()
        let response = try await session.post(
            .raw(server.url()), .body(body), fields: [.expect: "100-continue"], options: options)
        #expect(response.status.code == 417)
        #expect(server.accepted == 2)
    }

    @Test("a final response instead of 100 (Continue) is the answer, and its connection is not reused")
    func finalAnswer() async throws {
        let server = try await RawServer.start { connection in
            while true {
                _ = try await connection.readHead()
                try await connection.write(Self.ok)
            }
        }
        let session = try makeSession()
        let first = try await session.post(.raw(server.url()), .body(.string("hello")), options: options)
        #expect(try await first.body.collect(upTo: 10) == Array("ok".utf8))
        let second = try await session.get(.raw(server.url()))
        #expect(try await second.body.collect(upTo: 10) == Array("ok".utf8))
        #expect(server.accepted == 2)
    }

    /// libcurl 8.21 reads such a response before it watches the connection, and does not show that it stops reading.
    @Test("a final response that arrives before the request was sent ends the wait for 100 (Continue)")
    func earlyAnswer() async throws {
        let server = try await RawServer.start { connection in
            try await connection.write(Self.ok)
            _ = try await connection.readHead()
            try await connection.closed
        }
        let session = try makeSession()
        for number in 1...30 {
            let response = try await session.post(.raw(server.url()), .body(.string("hello")), options: options)
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
            try #require(server.accepted == number)
        }
    }

    @Test("an unknown expectation is refused before the request is sent")
    func unknown() async throws {
        let error = await curlewError {
            _ = try await makeSession().post(
                "http://127.0.0.1:1/", .body(.string("x")), fields: [.expect: "200-ok"])
        }
        #expect(error?.code == .invalidRequest)
    }
}
