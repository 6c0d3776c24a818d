import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Synchronization
import TestHelpers
import Testing

@testable import CurlewCore

/// Requests that are repeated because their first attempt certainly, or harmlessly, had no effect.
@Suite("Repeated requests", .noLeaks, .timeLimit(.minutes(2)))
struct RepetitionTests {
    @Test("a GET survives any number of pooled connections that were closed")
    func dyingConnections() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            // The connection ends when the second request arrives.
            _ = try await connection.readHead()
        }
        let session = try makeSession()
        for _ in 0..<60 { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
    }

    @Test("a GET survives any number of pooled connections that are reset")
    func resetConnections() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = try await connection.readHead()
            await connection.reset()
        }
        let session = try makeSession()
        for _ in 0..<40 { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
    }

    @Test("a POST over a closed pooled connection is sent once")
    func unsafeRequest() async throws {
        let requests = Atomic(0)
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                requests.add(1, ordering: .relaxed)
                if head.hasPrefix("POST") { return }
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let session = try makeSession()
        _ = try await session.fetch(server.url())
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(.string("x"))) }
        #expect(error?.code == .connectionLost)
        #expect(requests.load(ordering: .relaxed) == 2)
    }

    /// The failure of an HTTP/2 connection after its server has read a POST.
    enum Failure: CaseIterable { case end, reset, connectionError, goAwayAndEnd }

    @Test("a POST that an HTTP/2 server may have processed is sent once", arguments: Failure.allCases, [false, true])
    func unsafeHTTP2Request(_ failure: Failure, isKept: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let tls = ServerTLS([certificate], applicationProtocols: ["h2"])
        let requests = Atomic(0)
        let server = try await RawServer.start(tls: tls) { connection in
            try await connection.openHTTP2()
            if isKept {
                let stream = try await connection.readRequestStream()
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "2")]),
                    .data(stream: stream, Array("ok".utf8), endStream: true))
            }
            let stream = try await connection.readRequestStream()
            _ = try await connection.readFrame { $0.flags.contains(.endStream) }
            requests.add(1, ordering: .relaxed)
            switch failure {
            case .end: break
            case .reset: await connection.reset()
            case .connectionError:
                // A DATA frame on stream 0 is a connection error (RFC 9113 §6.1).
                try await connection.write(.data(stream: 0, Array("x".utf8)))
                try await connection.closed
            case .goAwayAndEnd: try await connection.write(.goAway(lastStream: stream, .noError))
            }
        }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.timeouts.idle = .seconds(5)
        }
        if isKept { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        _ = await curlewError { _ = try await session.post(.raw(server.url()), .body(.string("x"))) }
        #expect(requests.load(ordering: .relaxed) == 1)
    }

    /// A server that allows one stream per connection, and refuses the others.
    ///
    /// Until the first refusal it withholds the limit and its responses, so that a client that shares connections
    /// before it knows the limit sends the streams to be refused. Each response comes after the answer to a PING: the
    /// streams that were sent before the client could know the limit arrive before that answer.
    private final class OneStreamServer: Sendable {
        private struct State {
            var withholds: Bool
            var refusals = 0
            /// The stream that each connection serves.
            var served: [Int: UInt32] = [:]
            var held: [(connection: RawConnection, stream: UInt32)] = []
        }

        private let state: Guarded<State>

        init(withholds: Bool) { state = Guarded(State(withholds: withholds)) }

        var refusals: Int { state.withLock { $0.refusals } }

        private static var limit: [(HTTP2WireFrame.Setting, UInt32)] { [(.maxConcurrentStreams, 1)] }

        func serve(_ connection: RawConnection) async throws {
            let isLimited = state.withLock { !$0.withholds }
            try await connection.openHTTP2(settings: isLimited ? Self.limit : [])
            while true {
                let frame = try await connection.readFrame {
                    $0.kind == .headers || $0.kind == .data
                        || ($0.kind == .ping && $0.flags.contains(.acknowledgement))
                }
                if frame.kind == .headers, !accepts(frame.stream, on: connection.index) {
                    try await connection.write(.resetStream(frame.stream, .refusedStream))
                    for held in takeHeld() { try? await respond(held.stream, on: held.connection, announces: true) }
                } else if frame.kind == .ping {
                    guard let stream = takeServed(on: connection) else { continue }
                    try await respond(stream, on: connection, announces: !isLimited)
                } else if frame.flags.contains(.endStream), isServed(frame.stream, on: connection.index) {
                    try await connection.write(.ping())
                }
            }
        }

        private func accepts(_ stream: UInt32, on connection: Int) -> Bool {
            state.withLock { state in
                if state.served[connection] == nil {
                    state.served[connection] = stream
                    return true
                }
                state.refusals += 1
                state.withholds = false
                return false
            }
        }

        private func isServed(_ stream: UInt32, on connection: Int) -> Bool {
            state.withLock { $0.served[connection] == stream }
        }

        /// The stream whose response is due; nil if the response is withheld.
        private func takeServed(on connection: RawConnection) -> UInt32? {
            state.withLock { state -> UInt32? in
                guard let stream = state.served[connection.index] else { return nil }
                if state.withholds {
                    state.held.append((connection, stream))
                    return nil
                }
                state.served[connection.index] = nil
                return stream
            }
        }

        private func takeHeld() -> [(connection: RawConnection, stream: UInt32)] {
            state.withLock { state in
                let held = state.held
                state.held = []
                for one in held { state.served[one.connection.index] = nil }
                return held
            }
        }

        private func respond(_ stream: UInt32, on connection: RawConnection, announces: Bool) async throws {
            if announces { try await connection.write(.settings(Self.limit)) }
            try await connection.write(
                .response(stream: stream, status: 200, fields: [("content-length", "2")]),
                .data(stream: stream, Array("ok".utf8), endStream: true))
        }
    }

    @Test(
        "a server that allows one stream serves 20 requests at once",
        arguments: [HTTPRequest.Method.get, .post, .put], [false, true])
    func oneStream(_ method: HTTPRequest.Method, usesTLS: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let tls = ServerTLS([certificate], applicationProtocols: ["h2"])
        // Other requests use a connection before its first response, and so before the limit is known.
        let isSharedAtOnce = usesTLS || !Engine.sharesAfterFirstHead
        let streams = OneStreamServer(withholds: isSharedAtOnce)
        let server = try await RawServer.start(tls: usesTLS ? tls : nil) { try await streams.serve($0) }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            if !usesTLS { $0.versionPolicy = .http2PriorKnowledge }
        }
        var refusedAtFirst = 0
        for round in 0..<5 {
            if round == 1 { refusedAtFirst = streams.refusals }
            let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let body: CurlewRequest.Body = method == .get ? .none : .string("body")
                        let response = try await session.send(method, .raw(server.url()), .body(body))
                        return try await response.body.collect(upTo: .kibibytes(1))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == Array(repeating: Array("ok".utf8), count: 20))
            await session.session?.closeIdleConnections()
        }
        #expect((refusedAtFirst > 0) == isSharedAtOnce)
        // From the first refusal on, new connections are not shared before the server's limit is known.
        #expect(streams.refusals == refusedAtFirst)
        #expect(server.accepted <= 60)
    }

    /// The way in which a server reports that it has not processed a request.
    enum Refusal: CaseIterable { case refusedStream, goAway, http11Required }

    @Test(
        "a POST that the server certainly has not processed is sent again", arguments: Refusal.allCases,
        [false, true])
    func refused(_ refusal: Refusal, isKept: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        var tls = ServerTLS([certificate], applicationProtocols: ["h2", "http/1.1"])
        tls.minimumVersion = .tls13
        let bodies = Mutex<[String]>([])
        let server = try await RawServer.start(tls: tls) { connection in
            guard connection.tls?.applicationProtocol == "h2" else {
                _ = try await connection.readHead()
                let body = String(decoding: try await connection.readExactly(4), as: UTF8.self)
                bodies.withLock { $0.append(body) }
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                return try await connection.closed
            }
            try await connection.openHTTP2()
            var count = 0
            while true {
                let stream = try await connection.readRequestStream()
                count += 1
                if connection.index == 0, count == (isKept ? 2 : 1) {
                    // libcurl before 8.2 must have no pending write: see the table of versions in the article
                    // Architecture.
                    _ = try await connection.readFrame { $0.kind == .data }
                    switch refusal {
                    case .refusedStream: try await connection.write(.resetStream(stream, .refusedStream))
                    case .goAway: try await connection.write(.goAway(lastStream: isKept ? 1 : 0, .noError))
                    case .http11Required: try await connection.write(.resetStream(stream, .http11Required))
                    }
                    return try await connection.closed
                }
                if refusal == .http11Required, count == (isKept ? 2 : 1) {
                    try await connection.write(.resetStream(stream, .http11Required))
                    return try await connection.closed
                }
                if !(connection.index == 0 && isKept && count == 1) {
                    let data = try await connection.readFrame { $0.kind == .data }
                    let text = String(decoding: data.payload, as: UTF8.self)
                    bodies.withLock { $0.append(text) }
                }
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "2")]),
                    .data(stream: stream, Array("ok".utf8), endStream: true))
            }
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        if isKept { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        let response = try await session.post(.raw(server.url()), .body(.string("body")))
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("ok".utf8))
        #expect(bodies.withLock { $0 } == ["body"])
    }

    @Test("a GET for which the server requires HTTP/1.1 is sent over HTTP/1.1")
    func getOverHTTP11() async throws {
        let certificate = try HeldCertificate.localhost()
        let tls = ServerTLS([certificate], applicationProtocols: ["h2", "http/1.1"])
        let server = try await RawServer.start(tls: tls) { connection in
            guard connection.tls?.applicationProtocol == "h2" else {
                _ = try await connection.readHead()
                return try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            let stream = try await connection.acceptHTTP2Request()
            try await connection.write(.resetStream(stream, .http11Required))
            try await connection.closed
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
    }

    @Test("a refused POST with a single-use body ends in an error")
    func refusedStreamedBody() async throws {
        let server = try await RawServer.start { connection in
            let stream = try await connection.acceptHTTP2Request()
            _ = try await connection.readFrame { $0.kind == .data }
            try await connection.write(.resetStream(stream, .refusedStream))
            try await connection.closed
        }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        continuation.yield(Array("body".utf8))
        continuation.finish()
        let error = await curlewError {
            _ = try await session.post(.raw(server.url()), .body(.once(stream)))
        }
        #expect(error?.code == .connectionLost)
        #expect(server.accepted == 1)
    }

    @Test("a server that refuses every stream receives a limited number of requests")
    func refusedForEver() async throws {
        let server = try await RawServer.start { connection in
            let stream = try await connection.acceptHTTP2Request()
            try await connection.write(.resetStream(stream, .refusedStream))
            try await connection.closed
        }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(.string("x"))) }
        #expect(error?.code == .connectionLost)
        #expect(server.accepted <= Attempt.limit)
    }

    @Test("a request does not wait for an idle connection that permits no stream", arguments: [false, true])
    func noStream(usesTLS: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let tls = ServerTLS([certificate], applicationProtocols: ["h2"])
        let (settings, set) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start(tls: usesTLS ? tls : nil) { connection in
            try await connection.openHTTP2()
            while true {
                let stream = try await connection.readRequestStream()
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "2")]),
                    .data(stream: stream, Array("ok".utf8), endStream: true))
                guard connection.index == 0 else { continue }
                try await connection.write(.settings([(.maxConcurrentStreams, 0)]))
                try await connection.flush()
                set.yield()
            }
        }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            if !usesTLS { $0.versionPolicy = .http2PriorKnowledge }
        }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        for await _ in settings { break }
        for _ in 0..<3 {
            let response = try await session.post(.raw(server.url()), .body(.string("x")))
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("ok".utf8))
        }
        #expect(server.accepted == 2)
    }
}
