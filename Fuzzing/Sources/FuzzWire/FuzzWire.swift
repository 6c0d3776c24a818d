internal import Dispatch
internal import FuzzingKit
internal import Glibc
internal import HTTPTypes

@testable internal import CurlewCore

/// A fuzz target for responses on the wire, through libcurl. For every response each request must end within its
/// timeouts, and no turn of the loop may take long.
///
/// No response may contain another request's answer, or be shorter than its declared length. The session must serve the
/// next request well, without any state of the earlier ones.
///
/// ``WireScript`` defines the input.
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

    /// The retry link, which never waits, whatever the server asks for.
    private static var retry: Retry {
        var retry = Retry(attempts: 2, budget: nil)
        retry.policy.backoff = Retry.Backoff(random: { 0 })
        retry.policy.retryAfterLimit = .zero
        return retry
    }

    /// The limit for one input: far more than two redirects, with each request tried twice, take with the timeouts
    /// above on a busy machine.
    private static let patience = Duration.seconds(20)
    /// The limit of processor time for one turn of the loop, including a sanitizer's overhead.
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

    // MARK: Single request

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

    /// The length of a body by its Content-Length; nil if the field does not determine it.
    private static func length(of response: CurlewResponse, to method: HTTPRequest.Method) -> Int? {
        let status = response.status.code
        guard method != .head, status != 204, status != 304, response.fields[.transferEncoding] == nil else {
            return nil
        }
        return response.fields[.contentLength].flatMap { Int($0) }
    }

    // MARK: Remaining state

    private static func expectUsable(_ session: HTTPSession) async throws {
        var options = RequestOptions()
        options.versionPolicy = .http11
        options.idleTimeout = .seconds(20)
        options.totalTimeout = .seconds(20)
        let body = try await session.send(.get, .raw(server.honestURL), options: options).body.collect(upTo: 100)
        requireEqual(body, Array("ok".utf8), "the request afterwards has another answer")
    }

    /// Checks that no connection and no task is left. This also makes the next input independent of this one: it finds
    /// no used connections and handles.
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
