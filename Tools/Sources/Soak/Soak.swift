import Curlew
import CurlewTesting
import HTTPTypes
import SeededNumbers
import Synchronization

/// A session, servers of both versions of HTTP that fail occasionally, and as many requests as the time allows.
final class Soak: Sendable {
    private let mode: SoakMode
    private let seed: UInt64
    private let duration: Duration
    private let before: Resources
    private let certificate: HeldCertificate
    private let tally = Tally()

    private static let workers = 48
    private static let totalTimeout = Duration.seconds(6)
    /// The excess over a request's timeout that counts as a hang; a busy machine delays less.
    private static let patience = Duration.seconds(5)
    /// The allowed growth of memory after the first third of the time, including the allocator's overhead.
    private static let memoryMargin = 64 << 20

    init(_ mode: SoakMode, seed: UInt64, duration: Duration) async throws {
        self.mode = mode
        self.seed = seed
        self.duration = duration
        // The threads that all servers share live as long as the process.
        let server = try await MockServer.start { _ in MockResponse() }
        await server.shutdown()
        before = .now()
        certificate = try HeldCertificate.localhost()
    }

    /// - Returns: The errors as text.
    func run() async throws -> [String] {
        report("\(mode), seed \(seed), \(duration), \(Resources.libcurl)")
        let start = ContinuousClock.now
        let early = try await serve(from: start)
        let left = await Resources.settled(to: before)
        report("at the end: \(left)")
        var findings = tally.findings + left.excess(over: before)
        if let early, left.memory > early.memory + Self.memoryMargin {
            findings.append("\(left.memory >> 20) MB of memory, after \(early.memory >> 20) MB at a third of the time")
        }
        return findings
    }

    /// Runs until the time is over, and releases servers and session.
    /// - Returns: The resources of the process after a third of the time.
    private func serve(from start: ContinuousClock.Instant) async throws -> Resources? {
        let servers = try await mode.servers(certificate)
        let session = try session()
        let end = start + duration
        let early = await withTaskGroup(of: Resources?.self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = SeededNumbers(seed: self.seed &+ UInt64(worker) &* 0xD134_2543_DE82_EF95)
                    while ContinuousClock.now < end {
                        let server = servers[Int(random.next() % UInt64(servers.count))]
                        await self.perform(self.exchange(with: server, &random), server, session)
                    }
                    return nil
                }
            }
            group.addTask {
                var random = SeededNumbers(seed: ~self.seed)
                while ContinuousClock.now < end {
                    for server in servers { server.break(&random, in: self.mode) }
                    try? await Task.sleep(for: .milliseconds(self.mode == .faults ? 20 : 3))
                }
                return nil
            }
            group.addTask { await self.watch(from: start, session) }
            var early: Resources?
            for await resources in group { early = early ?? resources }
            return early
        }
        await session.shutdown()
        for server in servers { await server.shutdown() }
        return early
    }

    private func exchange(with server: SoakServer, _ random: inout SeededNumbers) -> Exchange {
        mode == .faults
            ? Exchange(&random, mayBeChunked: !server.isHTTP2)
            : Exchange(orderly: &random, isUpload: server.takesUploadsAlone)
    }

    private func watch(from start: ContinuousClock.Instant, _ session: HTTPSession) async -> Resources? {
        var early: Resources?
        let interval = max(.seconds(1), min(.seconds(10), duration / 12))
        while ContinuousClock.now + interval < start + duration {
            try? await Task.sleep(for: interval)
            let passed = ContinuousClock.now - start
            let resources = Resources.now()
            if early == nil, passed >= duration / 3 { early = resources }
            let connections = await session.session?.connectionCount() ?? 0
            report("\(passed.components.seconds) s: \(resources), \(connections) connections, \(tally)")
        }
        return early
    }

    // MARK: Requests

    private func perform(_ exchange: Exchange, _ server: SoakServer, _ session: HTTPSession) async {
        let start = ContinuousClock.now
        do {
            let call = Task { try await self.fetch(exchange, server, session) }
            if case .cancelled(let delay) = exchange.reading {
                try await Task.sleep(for: delay)
                call.cancel()
            }
            try await call.value
        } catch let error as CurlewError {
            tally.count(error.code.rawValue)
            if mode.losesNothing, case .whole = exchange.reading { tally.find("\(exchange.path) is lost: \(error)") }
        } catch is CancellationError {
            tally.count("cancelled")
        } catch {
            tally.find("\(exchange.path): \(error)")
        }
        let duration = ContinuousClock.now - start
        if duration > Self.totalTimeout + Self.patience { tally.find("\(exchange.path) took \(duration)") }
    }

    private func fetch(_ exchange: Exchange, _ server: SoakServer, _ session: HTTPSession) async throws {
        var options = RequestOptions()
        options.totalTimeout = Self.totalTimeout
        if mode == .mixed, exchange.nonce % 3 == 0 { options.versionPolicy = .http11 }
        if !server.usesTLS, server.isHTTP2 { options.versionPolicy = .http2PriorKnowledge }
        let isUpload = exchange.kind == .upload
        let response = try await session.send(
            isUpload ? .put : .get, .raw(server.url(exchange.path)), .body(isUpload ? .bytes(exchange.content) : .none),
            options: options)
        let isEarly = mode == .early && isUpload
        guard response.status == (isEarly ? .contentTooLarge : exchange.expectedStatus) else {
            return tally.find("\(exchange.path) is answered \(response.status)")
        }
        let expected =
            isEarly
            ? Array(exchange.path.utf8) : server.takesUploadsAlone ? exchange.content : exchange.expected
        guard case .whole = exchange.reading else {
            for try await chunk in response.body {
                guard expected.starts(with: chunk) else {
                    let place = zip(chunk, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? expected.count
                    return tally.find("\(exchange.path) has another body from byte \(place) on")
                }
                return tally.count("dropped")
            }
            return tally.count("empty")
        }
        let body = try await response.body.collect(upTo: .mebibytes(4))
        guard body == expected else {
            return tally.find(
                "\(exchange.path) has \(body.count) bytes that are not the \(expected.count) of its own, "
                    + "over \(response.version)")
        }
        tally.count("whole")
    }

    // MARK: The session

    private func session() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: certificate.certificatePEM)
        // A busy machine may delay a server, so the limit is longer if no request may be lost.
        let idle = mode.losesNothing ? Duration.seconds(2) : .milliseconds(500)
        configuration.timeouts = Timeouts(connect: .seconds(2), idle: idle, total: Self.totalTimeout)
        // The number leaves room for other requests beside those that hang.
        configuration.connections.perHost = 24
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: Resources.loopName)])
    }
}

/// The ends of requests, and the errors of some.
private final class Tally: Sendable, CustomStringConvertible {
    private struct State {
        var counts: [String: Int] = [:]
        var findings: [String] = []
    }

    private let state = Mutex(State())
    private static let findingLimit = 20

    func count(_ outcome: String) { state.withLock { $0.counts[outcome, default: 0] += 1 } }

    func find(_ finding: String) {
        state.withLock { state in
            state.counts["WRONG", default: 0] += 1
            if state.findings.count < Self.findingLimit { state.findings.append(finding) }
        }
    }

    var findings: [String] { state.withLock { $0.findings } }

    var description: String {
        state.withLock { state in
            state.counts.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
    }
}
