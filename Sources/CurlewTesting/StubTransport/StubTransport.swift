#if TestKit
public import Curlew
public import HTTPTypes

/// Answers a session's requests without sockets, for unit tests of the code around the network.
///
///     let stub = StubTransport()
///     stub.on(.get, "/users/*", answer: .response(.notFound))
///     stub.enqueue(.response(body: "hello"), .failure(.connectionLost, stage: .exchanging))
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: stub) {}
///     …
///     try stub.verify()
///
/// A request is answered by the first route that matches it and is not used up, otherwise by the first answer in the
/// queue, otherwise by the handler. Without any of these the request fails at once with
/// ``Curlew/ErrorCode/unexpectedRequest``. ``verify()`` reports it again, in case the test ignored the error.
///
/// A request is treated as by the network's transport: it is checked, its body is read to the end, and cancellation
/// ends it with ``Curlew/ErrorCode/cancelled``. Features of the network do not exist here:
/// ``Curlew/CurlewResponse/task`` is nil, and timeouts and trailers are missing.
public final class StubTransport: Transport, Sendable {
    /// A function that answers a request. It runs in the caller's task and is cancelled with it.
    public typealias Handler = @Sendable (StubRequest) async throws -> StubAnswer

    /// The maximum size of a request's body: 64 MiB. A larger body fails the request.
    public static let bodyLimit = 64 << 20
    /// The maximum number of requests in ``received``: 4,096. The oldest are evicted.
    public static let recordedRequestLimit = 4096

    private let core = StubCore(recordLimit: StubTransport.recordedRequestLimit)
    private let clock: any Clock<Duration>
    private let handler: Handler?

    /// Makes a transport that answers only by its handler, until routes or queued answers are added.
    ///
    /// - Parameters:
    ///   - clock: The clock for delays and pauses; a test controls time with a ``TestClock``.
    ///   - handler: The handler of requests without a matching route and without a queued answer.
    public init(clock: any Clock<Duration> = ContinuousClock(), handler: Handler? = nil) {
        self.clock = clock
        self.handler = handler
    }

    deinit {
        self.core.finish()
    }

    /// Adds answers to the queue; each answers one request of any kind.
    public func enqueue(_ answers: StubAnswer...) {
        self.core.enqueue(answers)
    }

    /// Adds a route: requests for a path get the same answer each time.
    ///
    /// - Parameters:
    ///   - method: The method; any when `nil`.
    ///   - path: The path as it is sent. `*` matches one segment, `**` at the end matches the rest. A query in the
    ///     pattern must equal the request's; without one, any query matches.
    ///   - times: The number of requests that the route answers, which ``verify()`` then requires; any number when
    ///     `nil`.
    ///   - answer: The answer.
    public func on(_ method: HTTPRequest.Method?, _ path: String, times: Int? = nil, answer: StubAnswer) {
        self.on(method, path, times: times) { _ in answer }
    }

    /// Adds a route with a handler; see ``on(_:_:times:answer:)``.
    public func on(
        _ method: HTTPRequest.Method?,
        _ path: String,
        times: Int? = nil,
        handler: @escaping Handler
    ) {
        self.core.add(StubRoute(method: method, path: StubPath(path), times: times, handler: handler))
    }

    /// The received requests so far, oldest first.
    public var received: [StubRequest] { self.core.received }

    /// The requests, from the first one on and as they arrive; every stream has all of them. Ends when the transport is
    /// deinitialized.
    public var requests: AsyncStream<StubRequest> { self.core.requests }

    /// Returns when `count` requests have been received; throws when the task is cancelled.
    public func waitForRequests(_ count: Int) async throws {
        try await self.core.waitForTotal(count)
    }

    /// Checks that the queue is empty, that routes with a number of times were used that often, and that every request
    /// had an answer.
    ///
    /// - Throws: ``TestKitError`` that names the rest.
    public func verify() throws {
        let complaints = self.core.complaints
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }

    /// Answers a request. ``HTTPSession`` calls this method.
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
    /// A ``/CurlewTesting/StubTransport`` had no answer to a request, or a ``/CurlewTesting/ReplayTransport`` had no
    /// recorded exchange that it matches. The network never causes this error.
    public static let unexpectedRequest = ErrorCode(rawValue: "unexpected-request")
}
#endif
