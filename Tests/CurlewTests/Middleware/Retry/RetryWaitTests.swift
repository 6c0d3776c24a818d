import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("The wait before a retry", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RetryWaitTests {
    /// Sends a GET over a stub with these answers.
    /// - Returns: The waits and the response.
    private func waits(
        _ answers: [StubAnswer], options: RequestOptions = RequestOptions(), adjust: (inout Retry) -> Void = { _ in }
    ) async throws -> ([Duration], CurlewResponse) {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { _ in .response(.ok) }
        for answer in answers { stub.enqueue(answer) }
        var link = Retry(attempts: answers.count + 1, budget: nil, clock: clock)
        link.policy.backoff.random = { 1 }
        adjust(&link)
        let session = try HTTPSession(transport: stub, chain: .bare) { link }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let call = Task {
            defer { end.finish() }
            return try await session.get("http://a.test/", options: options)
        }
        let turner = Task {
            var waits: [Duration] = []
            while let wait = try? await clock.advanceToNextSleeper() { waits.append(wait) }
            return waits
        }
        for await _ in ends {}
        turner.cancel()
        return (await turner.value, try await call.value)
    }

    private func unavailable(_ fields: HTTPFields = [:]) -> StubAnswer {
        .response(.serviceUnavailable, fields: fields)
    }

    @Test("the upper bound of the backoff doubles from 100 ms to 10 s")
    func doubling() async throws {
        let (waits, response) = try await waits(Array(repeating: unavailable(), count: 9))
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000].map { .milliseconds($0) })
        #expect(response.status == .ok && response.attempts == 10)
    }

    @Test("the backoff waits for a random part of its upper bound")
    func jitter() {
        let backoff = Retry.Backoff(base: .milliseconds(100), maximum: .seconds(1))
        for failures in 1...20 {
            let bound = min(Duration.milliseconds(100) * (1 << (failures - 1)), .seconds(1))
            let waits = (0..<200).map { _ in backoff.wait(after: failures) }
            #expect(waits.allSatisfy { $0 >= .zero && $0 <= bound })
            #expect(waits.contains { $0 < bound * 0.3 } && waits.contains { $0 > bound * 0.7 })
        }
    }

    @Test("invalid settings of the backoff are corrected")
    func oddBackoffs() {
        #expect(Retry.Backoff(base: .seconds(-1)).wait(after: 3) == .zero)
        #expect(Retry.Backoff(base: .seconds(5), maximum: .seconds(2)).bound(after: 1) == .seconds(2))
        #expect(
            Retry.Backoff(base: .seconds(Int64.max), maximum: .seconds(Int64.max)).bound(after: .max)
                == .seconds(86_400))
        #expect(Retry.Backoff(base: .zero).bound(after: 1000) == .zero)
        #expect(Retry.Backoff(random: { 7 }).wait(after: 1) == .milliseconds(100))
    }

    @Test("Retry-After in seconds is waited for, with the backoff added")
    func seconds() async throws {
        let (waits, response) = try await waits([unavailable([.retryAfter: "30"]), unavailable([.retryAfter: "0"])])
        #expect(waits == [.milliseconds(30_100), .milliseconds(200)])
        #expect(response.status == .ok)
    }

    @Test(
        "Retry-After as a date is evaluated with the server's clock",
        arguments: [
            "Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994",
        ])
    func dates(_ date: String) async throws {
        let fields: HTTPFields = [.retryAfter: date, .date: "Sun, 06 Nov 1994 08:49:37 GMT"]
        let (waits, response) = try await waits([unavailable(fields)]) { $0.policy.backoff.random = { 0 } }
        #expect(waits == [.seconds(30)])
        #expect(response.status == .ok)
    }

    @Test("a past date causes no wait, by the server's clock or the local one")
    func pastDates() async throws {
        let past = "Sun, 06 Nov 1994 08:49:37 GMT"
        let (waits, _) = try await waits([
            unavailable([.retryAfter: past]), unavailable([.retryAfter: past, .date: past]),
        ])
        #expect(waits == [.milliseconds(100), .milliseconds(200)])
    }

    @Test(
        "a Retry-After beyond the limit returns the response at once",
        arguments: [
            "61", "3600", "3153600000", "99999999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT",
            "Thu, 31 Dec 2099 23:59:59 GMT",
        ])
    func century(_ value: String) async throws {
        let (waits, response) = try await waits([unavailable([.retryAfter: value])])
        #expect(waits.isEmpty)
        #expect(response.status == .serviceUnavailable && response.attempts == 1)
    }

    @Test(
        "an invalid Retry-After is ignored",
        arguments: [
            "", "soon", "-1", "-1.5", "+5", "1e3", "0x10", "5m", "5 5", "5.5.5", "1.2e3", ".", ".5",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "١٢", "2026-11-21T00:00:00Z", "\"5\"", "5; x", "s",
        ])
    func garbage(_ value: String) async throws {
        let (waits, response) = try await waits([unavailable([.retryAfter: value])])
        #expect(waits == [.milliseconds(100)])
        #expect(response.status == .ok)
    }

    @Test("the longest of several Retry-After fields applies, and invalid ones are ignored")
    func several() {
        var fields = HTTPFields()
        for value in ["5", "soon", "20", "7"] { fields.append(HTTPField(name: .retryAfter, value: value)) }
        #expect(RetryAfter.wait(fields) == .seconds(20))
    }

    @Test(
        "a number with a fraction, a unit or a list is accepted and rounded up",
        arguments: [
            ("1.5", 2), ("0.1", 1), ("1.0", 1), ("1.", 1), ("0.0", 0), ("1.000000000000000000000001", 2),
            ("59.999", 60),
            ("5s", 5), ("5 s", 5), ("1.5 Seconds", 2), ("30SEC", 30), (" 7 ", 7), ("007", 7), ("5, 6", 6), ("6, 5", 6),
            ("5, soon", 5), ("1,500", 500),
        ] as [(String, Int64)])
    func roundedUp(_ value: String, _ seconds: Int64) {
        #expect(RetryAfter.wait([.retryAfter: value]) == .seconds(seconds))
    }

    @Test("a wait may be a date in any letter case")
    func lowerCaseDate() {
        let now = HTTPDate(secondsSince1970: 784_111_777)
        let fields: HTTPFields = [.retryAfter: "sun, 06 nov 1994 08:50:07 gmt"]
        #expect(RetryAfter.wait(fields, now: now) == .seconds(30))
        #expect(RetryAfter.wait([.retryAfter: "SUNDAY, 06-NOV-94 08:50:07 GMT"], now: now) == .seconds(30))
    }

    @Test(
        "a wait beyond the range of the clock is limited",
        arguments: ["9999999999999", "99999999999999999999.5", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func longest(_ value: String) {
        #expect(RetryAfter.wait([.retryAfter: value]) == RetryAfter.longest)
    }

    @Test("the limit for Retry-After can be changed")
    func limit() async throws {
        let (waits, _) = try await waits([unavailable([.retryAfter: "90"])]) {
            $0.policy.retryAfterLimit = .seconds(90)
        }
        #expect(waits == [.milliseconds(90_100)])
    }

    @Test("a decision without its own wait uses Retry-After up to the limit, and one with a wait ignores it")
    func decisions() async throws {
        let conflict = StubAnswer.response(.conflict, fields: [.retryAfter: "20"])
        let (heeded, _) = try await waits([conflict]) { $0.decide = { _ in .again } }
        #expect(heeded == [.milliseconds(20_100)])
        let (chosen, _) = try await waits([conflict]) { $0.decide = { _ in .again(after: .seconds(1)) } }
        #expect(chosen == [.seconds(1)])
        let long = StubAnswer.response(.conflict, fields: [.retryAfter: "61"])
        let (refused, response) = try await waits([long]) { $0.decide = { _ in .again } }
        #expect(refused.isEmpty && response.status == .conflict)
        let (forced, _) = try await waits([long]) { $0.decide = { .again(after: $0.retryAfter!) } }
        #expect(forced == [.seconds(61)])
        let context = CurlewError.Context(
            response: HTTPResponse(status: .conflict, headerFields: [.retryAfter: "20"]))
        let refusal = CurlewError(.unacceptableStatus, "made by a link further in", context: context)
        let (ofErrors, _) = try await waits([.failure(refusal)]) { $0.decide = { _ in .again } }
        #expect(ofErrors == [.milliseconds(20_100)])
        let (without, _) = try await waits([.response(.conflict)]) { $0.decide = { _ in .again } }
        #expect(without == [.milliseconds(100)])
    }

    @Test("a retry that would exceed the link's time limit is not started")
    func totalTime() async throws {
        let (waits, response) = try await waits(Array(repeating: unavailable([.retryAfter: "50"]), count: 5)) {
            $0.policy.backoff.random = { 0 }
        }
        #expect(waits == [.seconds(50), .seconds(50)])
        #expect(response.status == .serviceUnavailable && response.attempts == 3)
    }

    @Test("a retry that would exceed the total timeout is not started, and each attempt has the rest of it")
    func totalTimeout() async throws {
        var options = RequestOptions()
        options.totalTimeout = .seconds(25)
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { _ in .response(.tooManyRequests, fields: [.retryAfter: "10"]) }
        var link = Retry(attempts: 9, budget: nil, clock: clock)
        link.policy.backoff.random = { 0 }
        let session = try HTTPSession(transport: stub, chain: .bare) { link }
        let call = Task { [options] in try await session.get("http://a.test/", options: options) }
        for _ in 0..<2 { try await clock.advanceToNextSleeper() }
        let response = try await call.value
        #expect(response.status == .tooManyRequests && response.attempts == 3)
        #expect(stub.received.map(\.request.options.totalTimeout) == [.seconds(25), .seconds(15), .seconds(5)])
    }

    @Test("cancelling the call during the wait ends it at once")
    func cancellation() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in MockResponse(status: .serviceUnavailable, body: "not now") }
        let session = try makeSession { Retry(clock: clock) }
        let call = Task { try await session.get(.raw(server.url("/here"))) }
        try await clock.waitForSleepers()
        call.cancel()
        let error = await curlewError { _ = try await call.value }
        #expect(error?.code == .cancelled)
        #expect(error?.uri?.path == "/here")
        #expect(server.requestCount == 1)
        #expect(clock.sleeperCount == 0)
    }
}
