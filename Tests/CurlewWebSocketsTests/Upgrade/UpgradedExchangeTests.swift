import Curlew
import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@Suite("The exchange of an upgraded connection", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct UpgradedExchangeTests {
    @Test("an upgraded connection counts towards the limits of connections until it is closed")
    func limits() async throws {
        let server = try await RawServer.start(handler: EchoUpgrade.serve)
        let session = try makeSession(baseURL: server.url()) {
            $0.connections.total = 2
            $0.timeouts.connectionWait = .milliseconds(300)
        }
        try await session.upgrade("", to: "echo") { first in
            try await first.write([1])
            try await session.upgrade("", to: "echo") { second in
                try await second.write([1])
                #expect(await session.session?.connectionCount() == 2)
                let error = await curlewError { try await session.upgrade("", to: "echo") { _ in } }
                #expect(error?.code == .connectionWaitTimeout)
            }
            try await session.upgrade("", to: "echo") { third in
                try await third.write([1])
            }
        }
        #expect(await session.session?.connectionCount() == 0)
        #expect(server.accepted == 3)
        await session.shutdown()
    }

    @Test("requests succeed over other connections beside an upgraded connection")
    func besideRequests() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await RawServer.start(tls: ServerTLS([certificate], applicationProtocols: ["http/1.1"])) {
            connection in
            while true {
                let head = try await connection.readHead()
                guard head.contains("Upgrade: echo") else {
                    try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    continue
                }
                try await connection.write(EchoUpgrade.switching + "first")
                while let bytes = try await connection.read() { try await connection.write(bytes) }
                return
            }
        }
        let session = try makeSession(baseURL: server.url()) { $0.security = .anchors(pem: certificate.certificatePEM) }
        try await session.upgrade("", to: "echo") { stream in
            // libcurl searches for dead connections once a second, and regards a connection with unread bytes as dead.
            // The search of the second round takes place after a second of libcurl's own clock.
            for lapse in [Duration.zero, .milliseconds(1100)] {
                try await stream.write(Array("more".utf8))
                try await Task.sleep(for: lapse)
                #expect(try await session.get("").body.collect(upTo: 10) == Array("ok".utf8))
                try await session.upgrade("", to: "echo") { other in
                    var iterator = other.makeAsyncIterator()
                    let bytes = try await iterator.next()
                    #expect(bytes == Array("first".utf8))
                }
            }
            var text = ""
            for try await bytes in stream {
                text += String(decoding: bytes, as: UTF8.self)
                if text == "firstmoremore" { break }
            }
            #expect(text == "firstmoremore")
        }
        await session.shutdown()
    }

    @Test("the time limits of a request end with the head")
    func timeLimits() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            guard !head.contains("GET /silent") else { return try await connection.closed }
            try await connection.write(EchoUpgrade.switching)
            while let bytes = try await connection.read() { try await connection.write(bytes) }
        }
        let session = try makeSession(baseURL: server.url()) {
            $0.timeouts.idle = .milliseconds(400)
            $0.timeouts.total = .milliseconds(600)
            $0.timeouts.head = .milliseconds(300)
        }
        try await session.upgrade("", to: "echo") { stream in
            // The three requests take longer together than the longest limit.
            for _ in 0..<3 {
                let error = await curlewError { try await session.upgrade("silent", to: "echo") { _ in } }
                #expect(error?.code == .headTimeout)
            }
            try await stream.write([1])
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next() == [1])
        }
        await session.shutdown()
    }

    @Test("a shutdown waits for an upgraded connection and ends it at the deadline")
    func shutdown() async throws {
        let server = try await RawServer.start(handler: EchoUpgrade.serve)
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                try await stream.write([1])
                let shutdown = Task { await session.shutdown(deadline: .milliseconds(200)) }
                for try await _ in stream {}
                await shutdown.value
            }
        }
        #expect(error?.code == .sessionInvalidated)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("metrics and listeners include the exchange until the connection is closed")
    func observation() async throws {
        let server = try await RawServer.start(handler: EchoUpgrade.serve)
        let session = try makeSession(baseURL: server.url())
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        try await session.upgrade("", to: "echo") { stream in
            try await stream.write([1, 2, 3])
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next() == [1, 2, 3])
            #expect(await actor.tasks().count == 1)
        }
        var last = await events.next()
        while let event = last, event.kind != .completed { last = await events.next() }
        let metrics = try #require(last?.metrics?.last)
        #expect(last?.error == nil)
        #expect(metrics.sentBodyBytes == 3)
        #expect(metrics.receivedBodyBytes == 3)
        #expect(metrics.sentFieldBytes > 50)
        #expect(metrics.receivedHeadBytes == EchoUpgrade.switching.utf8.count)
        #expect(metrics.firstByte != nil)
        #expect(metrics.remotePort == server.port)
        #expect(await actor.tasks().isEmpty)
        await session.shutdown()
    }

    @Test("an error of the closure closes the connection and is the cause of the thrown error")
    func closureError() async throws {
        struct Failure: Error {}
        let server = try await RawServer.start(handler: EchoUpgrade.serve)
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { _ in throw Failure() }
        }
        #expect(error?.code == .foreignFailure)
        #expect(error?.underlying is Failure)
        try await server.waitForConnections { $0.open == 0 }
        await session.shutdown()
    }
}
