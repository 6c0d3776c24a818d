import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// A listener that stores its events.
private final class Notes: CallListener {
    private let kept = Guarded<[CallEvent]>([])
    private let onEvent: @Sendable (CallEvent) -> Void

    init(onEvent: @escaping @Sendable (CallEvent) -> Void = { _ in }) { self.onEvent = onEvent }

    var events: [CallEvent] { kept.withLock { $0 } }

    /// The kinds of events, each with the number of its attempt.
    var kinds: [String] { events.map { "\($0.kind) \($0.attempt)" } }

    func receive(_ event: CallEvent) {
        kept.withLock { $0.append(event) }
        onEvent(event)
    }

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) {
        request.fields[.xAttempt] = "\(attempt)"
    }
}

extension HTTPField.Name {
    fileprivate static let xAttempt = HTTPField.Name("X-Attempt")!
}

@Suite("Listeners of calls", .noLeaks, .timeLimit(.minutes(1)))
struct CallListenerTests {
    @Test("a call with a redirect and a retry has its events in order, and prepares each attempt")
    func order() async throws {
        let server = try await MockServer.start { request in
            switch (request.path, request.fields[.xAttempt]) {
            case ("/", _): MockResponse(status: .found, fields: [.location: "/next"])
            case ("/next", "2"): MockResponse(status: .serviceUnavailable)
            default: MockResponse(body: "\(request.fields[.xAttempt] ?? "none")")
            }
        }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try makeSession {
            listening
            Redirects()
            quickRetry()
        }
        #expect(try await session.get(.raw(server.url()), as: .text) == "3")
        await session.shutdown()
        await listening.flush()
        let calls = notes.kinds.filter { !$0.hasPrefix("attempt-ended") && !$0.hasPrefix("response-received") }
        #expect(
            calls == [
                "call-started 0", "attempt-started 1", "redirected 0", "attempt-started 2", "retrying 0",
                "attempt-started 3",
                "call-ended 0",
            ])
        for attempt in 1...3 {
            let own = notes.events.filter { $0.attempt == attempt }
            #expect(own.map(\.kind) == [.attemptStarted, .responseReceived, .attemptEnded], "attempt \(attempt)")
            #expect(own.last?.metrics != nil && own.last?.error == nil)
        }
        #expect(Set(notes.events.map(\.call)).count == 1)
        let ends = notes.events.filter { $0.kind == .attemptEnded }
        #expect(ends.compactMap { $0.response?.status.code }.sorted() == [200, 302, 503])
        let end = try #require(notes.events.first { $0.kind == .callEnded })
        #expect(end.response?.status == .ok && end.duration != nil && end.error == nil)
        #expect(notes.events.first { $0.kind == .retrying }?.status == .serviceUnavailable)
        #expect(notes.events.first { $0.kind == .redirected }?.status == .found)
    }

    @Test("a cancelled call has one end event, and so has its attempt")
    func cancelled() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try makeSession { listening }
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        call.cancel()
        _ = await call.result
        await session.shutdown()
        await listening.flush()
        #expect(Set(notes.kinds) == ["call-started 0", "attempt-started 1", "attempt-ended 1", "call-ended 0"])
        #expect(notes.events.count == 4)
        #expect(notes.events.filter { $0.errorCode == .cancelled }.count == 2)
    }

    @Test("a session that is cancelled ends the attempt of a half-read body")
    func shutdown() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            try await connection.closed
        }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try makeSession { listening }
        let response = try await session.get(.raw(server.url()))
        await session.shutdown(deadline: .zero)
        await listening.flush()
        #expect(
            notes.events.map(\.kind) == [.callStarted, .attemptStarted, .responseReceived, .callEnded, .attemptEnded])
        #expect(notes.events.last?.errorCode == .sessionInvalidated && notes.events.last?.response?.status == .ok)
        withExtendedLifetime(response) {}
    }

    @Test("a response from a cache has no attempt")
    func cached() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try makeSession {
            listening
            HTTPCache()
        }
        for _ in 0..<2 { #expect(try await session.get(.raw(server.url()), as: .text) == "x") }
        await session.shutdown()
        await listening.flush()
        let calls = Set(notes.events.map(\.call))
        #expect(calls.count == 2)
        let second = notes.events.filter { $0.call == calls.max() }
        #expect(second.map(\.kind) == [.callStarted, .callEnded])
    }

    @Test("a request that is refused before it is sent ends its attempt with the error")
    func refused() async throws {
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try makeSession { listening }
        var options = RequestOptions()
        options.headTimeout = .zero
        let error = await curlewError { _ = try await session.get("http://a.test/", options: options) }
        #expect(error?.code == .invalidRequest)
        await session.shutdown()
        await listening.flush()
        #expect(notes.events.map(\.kind) == [.callStarted, .attemptStarted, .attemptEnded, .callEnded])
        #expect(notes.events.filter { $0.errorCode == .invalidRequest }.count == 2)
    }

    @Test("attempts over a stub end with the head of their response")
    func stub() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try HTTPSession(transport: stub, chain: .bare) { listening }
        _ = try await session.get("http://a.test/")
        await listening.flush()
        #expect(
            notes.events.map(\.kind) == [.callStarted, .attemptStarted, .responseReceived, .attemptEnded, .callEnded])
        #expect(stub.received.first?.fields[.xAttempt] == "1")
    }

    @Test("a link that is passed twice reports one call, and numbers the attempts of both passes")
    func nested() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let (outer, inner) = (Notes(), Notes())
        let (first, second) = (CallListening(outer), CallListening(inner))
        let session = try HTTPSession(transport: stub, chain: .bare) {
            first
            second
        }
        _ = try await session.get("http://a.test/")
        await first.flush()
        await second.flush()
        #expect(outer.events.map(\.kind) == inner.events.map(\.kind))
        #expect(Set((outer.events + inner.events).map(\.call)).count == 1)
    }

    @Test("a slow listener delays no call, and events beyond its limit are dropped and counted")
    func blocked() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let (holding, release) = (Gate(), Guarded(false))
        let notes = Notes { _ in
            holding.open()
            while !release.withLock({ $0 }) { sched_yield() }
        }
        let listening = CallListening(notes, limit: 3)
        let session = try makeSession { listening }
        _ = try await session.get(.raw(server.url()), as: .text)
        try await holding.wait()
        for _ in 0..<20 { #expect(try await session.get(.raw(server.url()), as: .text) == "x") }
        await session.shutdown()
        release.withLock { $0 = true }
        await listening.flush()
        #expect(listening.dropped + notes.events.count == 21 * 5)
        #expect(listening.dropped >= 20 * 5 - 3)
    }

    @Test("a transport around a session reports each attempt once, even with a connectivity timeout")
    func wrapped() async throws {
        struct Around: Transport {
            let session: SessionActor
            func send(_ request: CurlewRequest) async throws -> CurlewResponse { try await session.send(request) }
        }
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let inner = try makeSession { $0.connectivityTimeout = .seconds(5) }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try HTTPSession(transport: Around(session: try #require(inner.session)), chain: .bare) {
            listening
        }
        #expect(try await session.get(.raw(server.url()), as: .text) == "x")
        await inner.shutdown()
        await listening.flush()
        #expect(notes.events.filter { $0.kind == .attemptStarted }.count == 1)
        #expect(notes.events.filter { $0.kind == .attemptEnded }.count == 1)
        #expect(await server.takeRequest()?.fields[.xAttempt] == "1")
    }

    @Test("a request that a listener has stored is a separate call when it is sent")
    func keptRequest() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let notes = Notes()
        let listening = CallListening(notes)
        let session = try HTTPSession(transport: stub, chain: .bare) { listening }
        _ = try await session.get("http://a.test/")
        await listening.flush()
        let request = try #require(notes.events.last?.request)
        _ = try await session.send(request)
        await listening.flush()
        #expect(notes.events.count == 10)
        #expect(Set(notes.events.map(\.call)).count == 2)
    }
}
