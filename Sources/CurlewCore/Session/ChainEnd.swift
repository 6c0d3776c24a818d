/// The end of every chain: the steps that follow the last link. They are the same over a session and over a stub.
///
/// 1. Secrets: fields with secrets of the session are removed from a request that goes to another origin.
/// 2. Sharing: a ``RequestDispatch`` that a link has set joins the request to another one, or sends it alone.
/// 3. The network: the request may wait until there is a network (``RequestOptions/connectivityTimeout``).
/// 4. Listeners: each attempt is reported to the listeners of its call.
/// 5. The transport sends the request.
final class ChainEnd: Sendable {
    let transport: any Transport
    let session: SessionActor?
    let home: SecretHome
    let connectivity: SessionConnectivity
    /// The session's settings of route, proxy, addresses and trust; nil for the default settings, and without a
    /// session.
    let connectionDefaults: ConnectionDefaults?
    /// The longest wait for the network, unless a request has its own limit.
    private let usualWait: Duration?

    init(_ transport: any Transport, home: SecretHome) {
        self.transport = transport
        self.home = home
        session = transport as? SessionActor
        connectivity = session?.connectivity ?? SessionConnectivity()
        usualWait = session?.configuration.connectivityTimeout
        connectionDefaults = session.flatMap { session in
            let configuration = session.configuration
            return ConnectionDefaults(
                route: configuration.route, proxy: configuration.proxy, addressPolicy: configuration.addressPolicy,
                security: configuration.security)
        }
    }

    private init(_ other: ChainEnd, home: SecretHome) {
        transport = other.transport
        session = other.session
        connectivity = other.connectivity
        connectionDefaults = other.connectionDefaults
        usualWait = other.usualWait
        self.home = home
    }

    /// The same end with another secret scope.
    func with(_ home: SecretHome) -> ChainEnd { ChainEnd(self, home: home) }

    func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        // The usual request skips all steps but the transport. Each further function would add a frame to each call.
        guard concernsTransportAlone(request) else { return try await sendInSteps(request) }
        guard request.reporter == nil, let session else { return try await transfer(request) }
        return try await session.exchange(request).run()
    }

    private func concernsTransportAlone(_ request: CurlewRequest) -> Bool {
        guard usualWait == nil, home.contains(request) else { return false }
        let options = request.options
        return !options.isAnySet
            || (options.dispatch == nil && options.connectivityTimeout == nil && options.deadline == nil)
    }

    // This function and those below are not inlined: every call would keep room for them in its frame while it waits.
    @inline(never)
    private func sendInSteps(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = home.contains(request) ? request : request.withoutForeignSecrets()
        guard let dispatch = request.options.dispatch else { return try await connect(request) }
        request.options.dispatch = nil
        return try await dispatch.dispatch(request, over: session.map { ObjectIdentifier($0) }) { request in
            try await self.connect(request)
        }
    }

    /// Sends a request. If there is no network, waits for it.
    @inline(never)
    func connect(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard let limit = request.options.connectivityTimeout ?? usualWait else { return try await transfer(request) }
        let defaults = session.map { ($0.configuration.route, $0.configuration.proxy) }
        let latest = LatestExchange()
        return try await connectivity.send(
            request, waitingFor: limit, defaults: defaults ?? (ConnectionRoute(), .none)
        ) { error in
            guard let exchange = latest.exchange else { return }
            var event = SessionEvent(.waitingForConnectivity, of: exchange)
            event.error = error
            exchange.publishAfterEnd(event)
        } next: { request in
            try await self.transfer(request, latest)
        }
    }

    /// Sends a request, and reports the attempt to the listeners of its call.
    @inline(never)
    private func transfer(_ request: CurlewRequest, _ latest: LatestExchange? = nil) async throws -> CurlewResponse {
        var request = request
        if request.options.isAnySet { try request.options.deadline?.prepareAttempt(&request) }
        let attempt = request.reporter?.attemptBegins(&request, gauges: session?.gauges)
        do {
            var response: CurlewResponse
            if let session {
                let exchange = try session.exchange(request, watchedBy: attempt)
                latest?.exchange = exchange
                response = try await exchange.run()
            } else {
                // The transport may pass the request on to a session.
                if let attempt { request.watchers.append(attempt) }
                response = try await transport.send(request)
                // Only the end of the chain knows the request that was sent.
                if response.exchange == nil { response.sentRequest = request }
            }
            attempt?.answered(request, response)
            return response
        } catch {
            attempt?.failed(request, error)
            throw error
        }
    }
}

extension SessionActor: Transport {
    public nonisolated func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard (request.options.connectivityTimeout ?? configuration.connectivityTimeout) != nil else {
            return try await exchange(request).run()
        }
        var request = request
        // A transport around the session has already reported the attempt.
        request.reporter = nil
        return try await ChainEnd(self, home: SecretHome()).connect(request)
    }
}

/// The exchange of the last attempt.
private final class LatestExchange: Sendable {
    private let made = Guarded<Exchange?>(nil)

    var exchange: Exchange? {
        get { made.withLock { $0 } }
        set { made.withLock { $0 = newValue } }
    }
}

/// The origins that secrets of a session may go to.
struct SecretHome: Sendable {
    var base: CurlewURI?
    var scope = HTTPSession.SecretScope.baseOrigin

    /// True if a request may carry the secrets of the session. Secrets of an http origin may also go to the same host
    /// by https.
    func contains(_ request: CurlewRequest) -> Bool {
        guard let base else { return true }
        if scope.contains(request.uri, base: base) { return true }
        return request.uriBeforeUpgrade.map { scope.contains($0, base: base) } ?? false
    }
}
