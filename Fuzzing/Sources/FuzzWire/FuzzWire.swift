internal import Dispatch
internal import FuzzingKit
internal import Glibc
internal import HTTPTypes

@testable internal import Curlew

/// Answers as they come over the wire, through libcurl: whatever a server sends, every request ends within its timeouts, no
/// turn of the loop takes long, no response has what answered another request or is shorter than it says, and the session
/// still serves the next request well, with nothing left of those before.
///
/// ``WireScript`` says what an input is.
@main
struct FuzzWire: FuzzTarget {
    private static let server = WireServer()
    private static let session = Result {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(5), idle: .milliseconds(20), total: .milliseconds(100))
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-fuzz")], chain: .bare
        ) {
            Redirects(.decide(maximum: 2) { $0.crossesOrigins ? nil : $0.request })
            retry
        }
    }

    /// It waits for nothing, whatever the server asks for.
    private static var retry: Retry {
        var retry = Retry(attempts: 2, budget: nil)
        retry.policy.backoff = Retry.Backoff(random: { 0 })
        retry.policy.retryAfterLimit = .zero
        return retry
    }

    /// Far more than two redirects, each request tried twice, take with the timeouts above, on a machine with other work.
    private static let patience = Duration.seconds(20)
    /// Processor time that no turn of the loop may take: a sanitizer's share included.
    private static let longestTurn = Duration.milliseconds(500)

    static func check(_ input: [UInt8]) {
        let script = WireScript(input)
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                try await run(script, session.get())
            } catch {
                require(false, "the session fails: \(error)")
            }
            done.signal()
        }
        done.wait()
    }

    private static func run(_ script: WireScript, _ session: HTTPSession) async throws {
        await server.follow(script)
        TurnWatch.start()
        var rest = script.exchanges[...]
        while !rest.isEmpty {
            let batch = rest.prefix(script.atOnce)
            rest = rest[batch.endIndex...]
            await withTaskGroup(of: Void.self) { group in
                for exchange in batch { group.addTask { await perform(exchange, of: script, session) } }
            }
        }
        try await expectUsable(session)
        try await expectNothingLeft(session)
        let turn = TurnWatch.stop()
        require(turn < longestTurn, "a turn of the loop took \(turn) of its processor's time")
    }

    // MARK: One request

    private static func perform(_ exchange: WireScript.Exchange, of script: WireScript, _ session: HTTPSession) async {
        var options = RequestOptions()
        options.versionPolicy = script.speaksHTTP2 ? .http2PriorKnowledge : .http11
        let body = CurlewRequest.Body.bytes([UInt8](repeating: UInt8(ascii: "b"), count: exchange.bodySize))
        let start = ContinuousClock.now
        do {
            let url = server.url(Stamp.path(exchange.number))
            let response = try await Task {
                if exchange.reading == .cancelled { withUnsafeCurrentTask { $0?.cancel() } }
                return try await session.send(
                    exchange.method, .raw(url), .body(exchange.bodySize > 0 ? body : .none), options: options)
            }.value
            try await read(response, of: exchange, script)
        } catch let error as CurlewError {
            require(!"\(error)".isEmpty, "an error says nothing")
        } catch {
            require(error is CancellationError, "a request fails with \(type(of: error)): \(error)")
        }
        let duration = ContinuousClock.now - start
        require(duration < patience, "a request took \(duration), with a limit of 100 ms for each of its attempts")
    }

    private static func read(
        _ response: CurlewResponse, of exchange: WireScript.Exchange, _ script: WireScript
    ) async throws {
        switch exchange.reading {
        case .headAlone: return
        case .firstChunk:
            for try await _ in response.body { return }
        case .whole, .cancelled:
            let body = try await response.body.collect(upTo: .mebibytes(1))
            if let length = length(of: response, to: exchange.method) {
                requireEqual(body.count, length, "a body is whole that is not as long as it says")
            }
            guard script.speaksHTTP2 || script.usesConnectionsOnce else { return }
            let strangers = Stamp.numbers(in: body).subtracting([exchange.number])
            require(strangers.isEmpty, "request \(exchange.number) has the answer to \(strangers)")
        }
    }

    /// The length of a body by its Content-Length; nil where that says nothing.
    private static func length(of response: CurlewResponse, to method: HTTPRequest.Method) -> Int? {
        let status = response.status.code
        guard method != .head, status != 204, status != 304, response.fields[.transferEncoding] == nil else {
            return nil
        }
        return response.fields[.contentLength].flatMap { Int($0) }
    }

    // MARK: What is left

    private static func expectUsable(_ session: HTTPSession) async throws {
        var options = RequestOptions()
        options.versionPolicy = .http11
        options.idleTimeout = .seconds(20)
        options.totalTimeout = .seconds(20)
        let body = try await session.send(.get, .raw(server.honestURL), options: options).body.collect(upTo: 100)
        requireEqual(body, Array("ok".utf8), "the request afterwards has another answer")
    }

    /// Also makes the next input independent of this one: it finds neither connections nor handles that have served.
    private static func expectNothingLeft(_ session: HTTPSession) async throws {
        let end = ContinuousClock.now + patience
        while true {
            await session.session?.closeIdleConnections()
            let connections = await session.session?.connectionCount() ?? 0
            let tasks = await session.session?.tasks() ?? []
            if connections == 0, tasks.isEmpty { return }
            require(ContinuousClock.now < end, "\(connections) connections and \(tasks.count) tasks are left")
            await Task.yield()
        }
    }
}
