#if TestKit
public import Curlew
public import HTTPTypes

/// Answers a session's requests without sockets, for unit tests of what stands before and after the network.
///
///     let stub = StubTransport()
///     stub.on(.get, "/users/*", answer: .response(.notFound))
///     stub.enqueue(.response(body: "hello"), .failure(.connectionLost, stage: .exchanging))
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: stub) {}
///     …
///     try stub.verify()
///
/// A request is answered by the first route that it matches and that is not used up, else by the first answer in the
/// queue, else by the handler. When there is none of these it fails at once with
/// ``Curlew/ErrorCode/unexpectedRequest``, and ``verify()`` reports it again, in case the error was swallowed.
///
/// A request is treated as the network's transport treats it: it is checked, its body is read to its end, cancellation
/// ends it with ``Curlew/ErrorCode/cancelled``. What needs a network does not exist here: no
/// ``Curlew/CurlewResponse/task``, no timeouts, no trailers.
public final class StubTransport: Transport, Sendable {
    /// Answers a request. It runs in the caller's task and is cancelled with it.
    public typealias Handler = @Sendable (StubRequest) async throws -> StubAnswer

    /// The most bytes of a request's body that are read; more fail the request. 64 MiB.
    public static let bodyLimit = 64 << 20
    /// The most requests that ``received`` keeps; the oldest leave when there are more. 4,096.
    public static let recordedRequestLimit = 4096

    private let core = StubCore(recordLimit: StubTransport.recordedRequestLimit)
    private let clock: any Clock<Duration>
    private let handler: Handler?

    /// Makes a transport with nothing to answer but what `handler` does.
    ///
    /// - Parameters:
    ///   - clock: What delays and pauses are measured with; a ``TestClock`` lets a test turn it.
    ///   - handler: What answers a request that meets no route and no answer in the queue.
    public init(clock: any Clock<Duration> = ContinuousClock(), handler: Handler? = nil) {
        self.clock = clock
        self.handler = handler
    }

    deinit {
        self.core.finish()
    }

    /// Adds answers to the queue; each answers one request, whatever it asks for.
    public func enqueue(_ answers: StubAnswer...) {
        self.core.enqueue(answers)
    }

    /// Answers the requests for a path in the same way each time.
    ///
    /// - Parameters:
    ///   - method: The method; any when `nil`.
    ///   - path: The path as it is sent. `*` stands for one segment, `**` at the end for all the rest. With a query it
    ///     has to be the request's, without one the request's does not matter.
    ///   - times: How many requests it answers, which ``verify()`` then demands; any number when `nil`.
    ///   - answer: The answer.
    public func on(_ method: HTTPRequest.Method?, _ path: String, times: Int? = nil, answer: StubAnswer) {
        self.on(method, path, times: times) { _ in answer }
    }

    /// Has a handler answer the requests for a path; see ``on(_:_:times:answer:)``.
    public func on(
        _ method: HTTPRequest.Method?,
        _ path: String,
        times: Int? = nil,
        handler: @escaping Handler
    ) {
        self.core.add(StubRoute(method: method, path: StubPath(path), times: times, handler: handler))
    }

    /// The requests that have come so far, oldest first.
    public var received: [StubRequest] { self.core.received }

    /// The requests, from the first on and as they come; each stream has them all. Ends when the transport has gone.
    public var requests: AsyncStream<StubRequest> { self.core.requests }

    /// Returns when `count` requests have come; throws when the task is cancelled.
    public func waitForRequests(_ count: Int) async throws {
        try await self.core.waitForTotal(count)
    }

    /// Checks that the script was played to its end: no answer is left in the queue, routes with a number of times have
    /// been used so often, and no request came that nothing was there for.
    ///
    /// - Throws: ``TestKitError`` that names what is left.
    public func verify() throws {
        let complaints = self.core.complaints
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }

    /// Answers a request; an ``HTTPSession`` calls it.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        do {
            try Task.checkCancellation()
            try request.checkForSending()
            let body = try await request.body.collectForSending(upTo: Self.bodyLimit)
            let seen = self.core.record(request, body: body)
            let answer = try await self.answer(to: seen)
            return try await answer.perform(for: request, clock: self.clock)
        } catch is CancellationError {
            throw CurlewError(.cancelled, "the task was cancelled")
                .adding(method: request.method, uri: request.uri)
        } catch let error as CurlewError {
            throw error.adding(method: request.method, uri: request.uri)
        }
    }

    private func answer(to request: StubRequest) async throws -> StubAnswer {
        switch self.core.claim(for: request) {
        case .route(let handler): return try await handler(request)
        case .queued(let answer): return answer
        case .nothing:
            if let handler { return try await handler(request) }
            throw CurlewError(.unexpectedRequest, self.core.refuse(request))
        }
    }
}

extension ErrorCode {
    /// A ``/CurlewTesting/StubTransport`` had nothing to answer a request with, or a ``/CurlewTesting/ReplayTransport`` no recorded
    /// exchange that it matches. The network never fails so.
    public static let unexpectedRequest = ErrorCode(rawValue: "unexpected-request")
}
#endif
