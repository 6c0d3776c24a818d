internal import HTTPTypes

/// A link that sends one request for several equal ones at the same time, and gives each caller the response.
///
/// Equal requests are GET or HEAD requests without a body whose URI, fields and time limits have the same bytes. The
/// fields include Authorization and Cookie, so users with different credentials never share a response. A QUERY is sent
/// alone. So is a request with its own connection options, or with options of links whose
/// ``RequestOptions/Key/affectsResponse`` is true. A request can join another one until the response of that one
/// begins, and for at most 30 seconds: a server that never answers one request does not delay all later ones.
///
/// A shared response is read ahead, up to ``bodyLimit``, and every caller gets it completely. A response is not shared
/// if it is larger, is a stream of events, sets a cookie, is `no-store`, has not ended ``bodyTimeout`` after its head,
/// or breaks off. In these cases the first request keeps it, and each other request is sent by itself.
///
/// An error before the head goes to all callers, with some exceptions. After a cancellation, an error that is not a
/// ``CurlewError``, a ``ErrorCode/totalTimeout``, a ``ErrorCode/headTimeout`` or a
/// ``ErrorCode/connectionWaitTimeout``, each later request is sent by itself, because it may have time left.
///
/// Cancelling a request only ends its own part. The exchange ends with the last request.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") { Coalescing() }
/// ```
///
/// ``HTTPSession`` joins the requests behind all links, so the links after this one process each of them.
public struct Coalescing: CurlewMiddleware {
    /// The most bytes of a shared body. 1 MiB by default.
    public let bodyLimit: ByteSize
    /// The longest time after the head of a response for which other callers wait for its end. 1 second by default.
    public let bodyTimeout: Duration
    private let flights: FlightTable

    /// - Parameters:
    ///   - bodyLimit: The most bytes of a shared body.
    ///   - bodyTimeout: The longest time after the head of a response for which other callers wait for its end.
    ///   - clock: The clock for this time.
    public init(
        upTo bodyLimit: ByteSize = .mebibytes(1), bodyTimeout: Duration = .seconds(1),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.bodyLimit = bodyLimit
        self.bodyTimeout = bodyTimeout
        flights = FlightTable(bodyLimit: bodyLimit.bytes, bodyTimeout: bodyTimeout, timekeeper: Timekeeper(clock))
    }

    /// The number of requests that wait for a response, together or alone.
    var memberCount: Int { flights.memberCount }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await next(joining(request) { _ in true })
    }

    /// The request, marked for joining with equal ones.
    /// - Parameter isShareable: True for a response that other callers may get.
    func joining(_ request: CurlewRequest, isShareable: @escaping @Sendable (CurlewResponse) -> Bool) -> CurlewRequest {
        guard request.options.dispatch == nil else { return request }
        var request = request
        request.options.dispatch = CoalescedDispatch(flights: flights, isShareable: isShareable)
        return request
    }
}

private struct CoalescedDispatch: RequestDispatch {
    let flights: FlightTable
    let isShareable: @Sendable (CurlewResponse) -> Bool

    func dispatch(_ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send) async throws
        -> CurlewResponse
    {
        guard let key = FlightKey(request, over: transport) else { return try await send(request) }
        let (flight, member) = flights.join(key, request, isShareable: isShareable, by: send)
        if let response = try await flight.response(for: member) { return response }
        return try await send(request)
    }
}

/// The properties in which equal requests agree.
struct FlightKey: Hashable, Sendable {
    private let transport: ObjectIdentifier?
    private let method: HTTPRequest.Method
    private let target: HTTPCache.Entry.Key
    private let userInformation: ExactText?
    private let fields: ExactFields
    private let timeouts: [Duration?]

    /// nil for a request that is sent alone.
    init?(_ request: CurlewRequest, over transport: ObjectIdentifier?) {
        guard request.method == .get || request.method == .head, request.body.isNone, request.trailers.isEmpty,
            !request.options.hasOwnConnection
        else { return nil }
        let source = ResponseSource.of(request)
        guard case .complete = source.knowledge else { return nil }
        self.transport = transport
        method = request.method
        target = CacheRequest.key(of: request, source)
        userInformation = request.uri.userInformation.map { ExactText($0) }
        fields = ExactFields(request.fields)
        let options = request.options
        timeouts =
            options.isAnySet
            ? [
                options.connectTimeout, options.headTimeout, options.idleTimeout, Self.total(options),
                options.connectionWaitTimeout, options.attemptTimeout,
            ] : []
    }
}

extension FlightKey {
    /// The total timeout. For calls within one deadline it is the time of the deadline.
    private static func total(_ options: RequestOptions) -> Duration? {
        guard let deadline = options.deadline, deadline.setsTotal else { return options.totalTimeout }
        return .nanoseconds(deadline.end.nanoseconds)
    }
}

extension RequestOptions {
    /// True if the request's connection differs from that of equal requests, or its own exchange is observed;
    /// ``ResponseSource`` has the table.
    fileprivate var hasOwnConnection: Bool {
        guard isAnySet else { return false }
        return isResponseAffected || route != nil || addressPolicy != nil || proxy != nil || versionPolicy != nil
            || readBufferSize != nil || bodyBufferSize != nil || rateLimit != nil || expectContinue != nil
            || engineCredential != nil || tag != nil
    }
}

/// The exchanges that other requests can join.
final class FlightTable: Sendable {
    let bodyLimit: Int
    let bodyTimeout: Duration
    let timekeeper: Timekeeper
    private let flights = Guarded<[FlightKey: Flight]>([:])

    init(bodyLimit: Int, bodyTimeout: Duration, timekeeper: Timekeeper) {
        self.bodyLimit = bodyLimit
        self.bodyTimeout = bodyTimeout
        self.timekeeper = timekeeper
    }

    var memberCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.memberCount } } }

    /// Joins the flight of a key, or begins one.
    /// - Returns: The flight, and the number of the new member.
    fileprivate func join(
        _ key: FlightKey, _ request: CurlewRequest, isShareable: @escaping @Sendable (CurlewResponse) -> Bool,
        by send: @escaping RequestDispatch.Send
    ) -> (Flight, Int) {
        let (flight, member, isNew) = flights.withLock { flights in
            if let flight = flights[key], let member = flight.add() { return (flight, member, false) }
            let flight = Flight(table: self)
            flights[key] = flight
            return (flight, flight.add() ?? 0, true)
        }
        if isNew {
            flight.begin { [weak self] in
                self?.flights.withLock { flights in if flights[key] === flight { flights[key] = nil } }
            } sending: {
                try await send(request)
            } isShareable: {
                isShareable($0)
            }
        }
        return (flight, member)
    }
}

/// An exchange and the requests that wait for its response.
///
/// The first member gets the response, with a body that a task reads ahead. The other members get the complete response
/// once it has arrived.
private final class Flight: Sendable {
    private typealias Waiter = CheckedContinuation<CurlewResponse?, any Error>

    private struct State {
        /// The members that wait, and those that have not begun to wait, in the order of joining.
        var members: [Int: Waiter?] = [:]
        var next = 0
        var isOpen = true
        /// True while the first member reads the body.
        var hasReader = false
        var task: Task<Void, Never>?
        /// The outcome for a member that begins to wait after the end.
        var outcome: [Int: Result<CurlewResponse?, any Error>] = [:]

        var isAbandoned: Bool { members.isEmpty && !hasReader }
    }

    private let state = Guarded(State())
    private let bodyLimit: Int
    private let bodyTimeout: Duration
    private let timekeeper: Timekeeper
    /// The time of the beginning, in nanoseconds.
    private let start: Int64
    /// The longest time in which requests may join, in nanoseconds: 30 seconds.
    private static let joinLimit: Int64 = 30_000_000_000

    init(table: FlightTable) {
        start = table.timekeeper.nanoseconds()
        bodyLimit = table.bodyLimit
        bodyTimeout = table.bodyTimeout
        timekeeper = table.timekeeper
    }

    var memberCount: Int { state.withLock { $0.members.count } }

    /// - Returns: The number of a new member; nil if joining is no longer possible.
    func add() -> Int? {
        let age = timekeeper.nanoseconds() - start
        return state.withLock { state in
            guard state.isOpen, age < Self.joinLimit else { return nil }
            defer { state.next += 1 }
            state.members.updateValue(nil, forKey: state.next)
            return state.next
        }
    }

    func begin(
        close: @escaping @Sendable () -> Void, sending send: @escaping @Sendable () async throws -> CurlewResponse,
        isShareable: @escaping @Sendable (CurlewResponse) -> Bool
    ) {
        let task = Task {
            do {
                let response = try await send()
                let first = self.close(close)
                await self.share(response, first: first, isShareable: isShareable(response))
            } catch {
                let first = self.close(close)
                self.fail(error, first: first)
            }
        }
        let isAbandoned = state.withLock { state in
            state.task = task
            return state.members.isEmpty
        }
        if isAbandoned { task.cancel() }
    }

    /// Closes the flight for further members.
    /// - Returns: The first of the remaining members.
    private func close(_ close: () -> Void) -> Int? {
        close()
        return state.withLock { state in
            state.isOpen = false
            return state.members.keys.min()
        }
    }

    /// Waits for the response.
    /// - Returns: The response; nil if the member has to send its request by itself.
    func response(for member: Int) async throws -> CurlewResponse? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<CurlewResponse?, any Error>? in
                    if let outcome = state.outcome.removeValue(forKey: member) { return outcome }
                    if state.members[member] != nil {
                        state.members[member] = .some(continuation)
                        return nil
                    }
                    return .failure(Self.cancelled)
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            leave(member)
        }
    }

    private static var cancelled: CurlewError { CurlewError(.cancelled, "the task was cancelled") }

    private func leave(_ member: Int) {
        let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.members.removeValue(forKey: member) else { return (nil, nil) }
            // The exchange is about to be cancelled, so further members are refused.
            if state.isAbandoned { state.isOpen = false }
            return (waiter, state.isAbandoned ? state.task : nil)
        }
        waiter?.resume(throwing: Self.cancelled)
        task?.cancel()
    }

    private func readerHasGone() {
        let task = state.withLock { state in
            state.hasReader = false
            return state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }

    /// Gives a member its outcome.
    private func settle(_ member: Int, _ outcome: Result<CurlewResponse?, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            guard let waiter = state.members.removeValue(forKey: member) else { return nil }
            if waiter == nil { state.outcome[member] = outcome }
            return waiter
        }
        waiter?.resume(with: outcome)
    }

    private func settleAll(_ outcome: Result<CurlewResponse?, any Error>) {
        for member in state.withLock({ Array($0.members.keys) }) { settle(member, outcome) }
    }

    private func fail(_ error: any Error, first: Int?) {
        if let first { settle(first, .failure(error)) }
        let code = (error as? CurlewError)?.code
        let isOwn = code.map { [.cancelled, .totalTimeout, .headTimeout, .connectionWaitTimeout].contains($0) } ?? true
        settleAll(isOwn ? .success(nil) : .failure(error))
    }

    private func share(_ response: CurlewResponse, first: Int?, isShareable: Bool) async {
        guard let first else { return }
        let isAlone = state.withLock { $0.members.count == 1 }
        guard !isAlone, isShareable, mayShare(response) else {
            settle(first, .success(response))
            settleAll(.success(nil))
            return
        }
        state.withLock { $0.hasReader = true }
        let channel = SharedBody(limit: bodyLimit) { [weak self] in self?.readerHasGone() }
        handOver(response, channel, to: first)
        let timer = Task { [timekeeper, bodyTimeout] in
            try await timekeeper.sleep(for: bodyTimeout)
            self.settleAll(.success(nil))
        }
        await pump(response, into: channel)
        timer.cancel()
    }

    /// Gives the first member its response. Not inlined: a remaining reference here would keep the body from being
    /// released.
    @inline(never)
    private func handOver(_ response: CurlewResponse, _ channel: SharedBody, to first: Int) {
        var own = response
        own.body = .stream(channel.chunks, over: response.body)
        settle(first, .success(own))
    }

    private func mayShare(_ response: CurlewResponse) -> Bool {
        // A response with a cookie, or one that must not be stored, belongs to a single caller.
        guard !response.fields.contains(.setCookie), !CacheDirectives(response.fields).noStore else { return false }
        if let length = response.body.length { return length <= Int64(bodyLimit) }
        let type = response.mediaType
        return type?.type != "multipart" && !(type?.type == "text" && type?.subtype == "event-stream")
    }

    /// Reads the body for its reader, and collects it for the other members up to the limit.
    private func pump(_ response: CurlewResponse, into channel: SharedBody) async {
        var whole: [UInt8]? = []
        do {
            for try await chunk in response.body {
                if var bytes = whole {
                    whole = nil
                    if bytes.count + chunk.count <= bodyLimit {
                        bytes += chunk
                        whole = bytes
                    } else {
                        settleAll(.success(nil))
                    }
                }
                await channel.append(chunk)
            }
            channel.finish(.success(()))
            if let whole {
                var shared = response
                shared.body = .bytes(whole)
                shared.cacheStatus = .coalesced
                settleAll(.success(shared))
            }
        } catch {
            channel.finish(.failure(error))
            settleAll(.success(nil))
        }
    }
}
