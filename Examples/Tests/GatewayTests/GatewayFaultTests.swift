import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import ServiceLifecycle
import Testing

@testable import Gateway

@Suite("A gateway with a faulty client or upstream", .noLeaks, .timeLimit(.minutes(1)))
struct GatewayFaultTests {
    @Test("an upstream that is unreachable or does not speak HTTP is a 502")
    func broken() async throws {
        let gone = try await RawServer.start { _ in }
        let port = gone.port
        await gone.shutdown()
        let nobody = try await Passage.start(to: "http://127.0.0.1:\(port)/")
        let response = try await nobody.client.get("")
        #expect(response.status == .badGateway)
        #expect(try await response.body.collect(upTo: 100) == Array("502 Bad Gateway\n".utf8))
        try await nobody.close()
        for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "220 ftp ready\r\n", ""] {
            let upstream = try await RawServer.start { connection in
                _ = try await connection.readHead()
                try await connection.write(answer)
            }
            let passage = try await Passage.start(to: upstream.url())
            #expect(try await passage.client.get("").status == .badGateway, "\(answer)")
            try await passage.close()
            await upstream.shutdown()
        }
    }

    @Test("an upstream that is too slow is a 504, and the hook may replace the response")
    func slow() async throws {
        let upstream = try await RawServer.start { connection in
            while try await connection.read() != nil {}
        }
        var configuration = SessionConfiguration()
        configuration.timeouts.head = .milliseconds(300)
        let passage = try await Passage.start(
            to: upstream.url(),
            rules: { rules in
                rules.onError = { error, status in
                    HTTPSession.Forwarding.Answer(
                        status, fields: [.retryAfter: "3"], bytes: Array(error.code.rawValue.utf8))
                }
            }, configuration: configuration)
        for _ in 0..<2 {
            let response = try await passage.client.get("")
            #expect(response.status == .gatewayTimeout && response.fields[.retryAfter] == "3")
            #expect(try await response.body.collect(upTo: 100) == Array("head-timeout".utf8))
        }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an upstream that breaks off in a body breaks off the client's body", arguments: [true, false])
    func truncated(_ isChunked: Bool) async throws {
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            let part = String(repeating: "x", count: 20_000)
            let head = "HTTP/1.1 200 OK\r\n"
            try await connection.write(
                isChunked
                    ? head + "Transfer-Encoding: chunked\r\n\r\n4E20\r\n\(part)\r\n"
                    : head + "Content-Length: 40000\r\n\r\n\(part)")
            await connection.reset()
        }
        let passage = try await Passage.start(to: upstream.url())
        let answer = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            return try await peer.read()
        }
        // The connection ended before the body did; before its first byte the gateway could still send an error
        // response.
        if answer.hasPrefix("HTTP/1.1 200") {
            #expect(!answer.hasSuffix("0\r\n\r\n"))
            #expect(answer.utf8.count < 40_000)
        } else {
            #expect(answer.hasPrefix("HTTP/1.1 502") || answer.isEmpty)
        }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test(
        "a client that disconnects before the upstream answers cancels the upstream request", arguments: [true, false])
    func clientGone(_ isHalf: Bool) async throws {
        let (heads, head) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            head.yield()
            while try await connection.read() != nil {}
            end.yield()
        }
        let passage = try await Passage.start(to: upstream.url())
        try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            for await _ in heads { break }
            guard isHalf else { return }
            peer.halfClose()
            #expect(try await peer.read() == "")
        }
        for await _ in ends { break }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("a client that disconnects from a slow answer cancels the upstream request")
    func readerGone() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            while try await connection.read() != nil {}
            end.yield()
        }
        let passage = try await Passage.start(to: upstream.url())
        try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await peer.read(through: "one\r\n")
        }
        for await _ in ends { break }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test(
        "an upload that breaks off, or is shorter than its Content-Length, does not arrive as complete",
        arguments: ["10", nil])
    func brokenUpload(_ length: String?) async throws {
        let (reports, report) = AsyncStream.makeStream(of: Bool.self)
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let upstream = try await MockServer.start { request in
            arrival.yield()
            let isWhole = (try? await request.body.collect()) != nil
            report.yield(isWhole)
            return MockResponse(body: "ok")
        }
        let passage = try await Passage.start(to: upstream.url())
        try await WirePeer.connected(to: passage.port) { peer in
            let framing =
                length.map { "Content-Length: \($0)\r\n\r\nabc" } ?? "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
            try await peer.write("POST / HTTP/1.1\r\nHost: a\r\n\(framing)")
            for await _ in arrivals { break }
        }
        for await isWhole in reports {
            #expect(!isWhole)
            break
        }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an answer that comes before the end of the upload is forwarded, and the client's connection stays usable")
    func early() async throws {
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            // Chunked coding shows the client the end of the body.
            try await connection.write(
                "HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nfull\r\n0\r\n\r\n"
            )
            try await connection.halfClose()
            while try await connection.read() != nil {}
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            // The client waits for the complete answer before it sends more.
            let first = try await peer.read(through: "0\r\n\r\n")
            try await peer.write("3\r\ndef\r\n0\r\n\r\nTRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return (first, try await peer.read())
        }
        #expect(answers.0.hasPrefix("HTTP/1.1 413 ") && answers.0.contains("full"))
        #expect(answers.1.hasPrefix("HTTP/1.1 501 "))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an upstream that dies during an upload is a 502, and the client's connection stays usable")
    func deadUpload() async throws {
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            _ = try await connection.read()
            await connection.reset()
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
            let first = try await peer.read(through: "502 Bad Gateway\n")
            try await peer.write("defTRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return (first, try await peer.read())
        }
        #expect(answers.0.hasPrefix("HTTP/1.1 502 "))
        #expect(answers.1.hasPrefix("HTTP/1.1 501 "))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an upstream is slowed down by a client that does not read")
    func stalledReader() async throws {
        let (counts, count) = AsyncStream.makeStream(of: Int.self)
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n")
            let part = [UInt8](repeating: 7, count: 1 << 20)
            for index in 1...256 {
                try await connection.write(part)
                count.yield(index)
            }
        }
        let passage = try await Passage.start(to: upstream.url())
        try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await peer.read(through: "\r\n\r\n")
            // The written bytes fill buffers by now; a gateway without backpressure would soon have sent all of them.
            for await sent in counts where sent >= 2 { break }
            for _ in 0..<50_000 { await Task.yield() }
        }
        count.finish()
        var most = 0
        for await sent in counts { most = max(most, sent) }
        #expect(most < 200)
        try await passage.close()
        await upstream.shutdown()
    }

    @Test(
        "a request with ambiguous framing reaches no upstream",
        arguments: [
            (
                "both framings",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            (
                "both, the other way round",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
            ),
            ("two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
            ("a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello"),
            ("a signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello"),
            ("a length in hexadecimal", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello"),
            ("an unknown coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            ("chunked twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
            ("identity", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello"),
            ("space before the colon", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
            (
                "a folded field",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
            ),
            ("a bare line feed", "GET / HTTP/1.1\nHost: a\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n"),
            ("a NUL", "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n"),
            ("a bare return", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n"),
            ("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
            ("Connection that names Host", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Host\r\n\r\n"),
            ("a size that is none", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"),
            ("a path upwards", "GET /../secret HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("an encoded path upwards", "GET /x/%2e%2e/%2e%2e/secret HTTP/1.1\r\nHost: a\r\n\r\n"),
        ])
    func smuggled(_ name: String, _ request: String) async throws {
        // A complete request that the client did not send must not reach the upstream.
        let upstream = try await MockServer.start { request in
            _ = try? await request.body.collect()
            return MockResponse(body: "ok")
        }
        let passage = try await Passage.start(to: upstream.url("/app"))
        let answer = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write(request + "GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return try await peer.read(through: "\r\n\r\n")
        }
        #expect(
            answer.isEmpty || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 501"), "\(name): \(answer)")
        try await passage.close()
        await upstream.shutdown()
        // If the request was refused for another reason than its framing, its end is clear, so the next request is
        // valid.
        let isFramed = ["two hosts", "Connection that names Host"].contains(name) || name.contains("path")
        for await request in upstream.requests where request.isComplete {
            #expect(request.target == "/app/smuggled" && isFramed, "\(name): \(request.target)")
        }
    }

    @Test(
        "bytes of one answer's body never precede the next answer on the client's connection",
        arguments: [
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Content-Length: 500\r\nTransfer-Encoding: chunked",
        ])
    func splitting(_ framing: String) async throws {
        let content = "helloHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
        let upstream = try await RawServer.start { connection in
            if try await connection.readHead().hasPrefix("GET /first") {
                let size = String(content.utf8.count, radix: 16)
                try await connection.write(
                    "HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n\(size)\r\n\(content)\r\n0\r\n\r\n")
            } else {
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright")
            }
            await connection.close()
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try await peer.read(through: "\r\n\r\n")
            let body = try await peer.read(through: "0\r\n\r\n")
            try await peer.write("GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return (head.lowercased(), body, try await peer.read())
        }
        #expect(answers.0.contains("transfer-encoding: chunked\r\n") && !answers.0.contains("content-length"))
        #expect(answers.1.contains(content) && answers.1.hasSuffix("\r\n0\r\n\r\n"))
        #expect(answers.2.hasPrefix("HTTP/1.1 200 OK\r\n") && answers.2.hasSuffix("\r\n\r\nright"))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("a failed upstream gives HEAD an answer without a body, and the connection stays usable")
    func failedHead() async throws {
        let upstream = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("garbage\r\n\r\n")
            await connection.close()
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try await peer.read(through: "\r\n\r\n")
            try await peer.write("TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return (head, try await peer.read())
        }
        #expect(answers.0.hasPrefix("HTTP/1.1 502 ") && answers.0.lowercased().contains("content-length: 16\r\n"))
        #expect(answers.1.hasPrefix("HTTP/1.1 501 "))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("a gateway that shuts down answers its running requests")
    func shutdown() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let gate = AsyncStream.makeStream(of: Void.self)
        let upstream = try await MockServer.start { _ in
            ask.yield()
            for await _ in gate.stream {}
            return MockResponse(body: "late")
        }
        let passage = try await Passage.start(to: upstream.url())
        let call = Task { try await passage.client.get("").body.collect(upTo: 10) }
        for await _ in asked { break }
        await passage.group.triggerGracefulShutdown()
        gate.continuation.finish()
        #expect(try await call.value == Array("late".utf8))
        try await passage.close()
        await upstream.shutdown()
    }
}
