internal import HTTPTypes
internal import Synchronization

/// A session: the connections, the tasks under way, the limits and the events that its users share.
///
/// It ends by itself when nobody holds it and its last task has ended; ``shutdown(deadline:)`` waits for that.
/// ``HTTPSession`` is the comfortable way to use one.
public actor SessionActor {
    /// How the session works.
    public nonisolated let configuration: SessionConfiguration
    nonisolated let shards: [SessionShard]
    private nonisolated let defaults: RequestDefaults
    nonisolated let broadcaster: Broadcaster<SessionEvent>
    nonisolated let rate: SharedRate
    nonisolated let connectivity = SessionConnectivity()
    private static let lastIdentifier = Atomic<UInt64>(0)
    /// The shards that hosts were assigned to, by index.
    private nonisolated let shardsOfHosts = Guarded<[String: Int]>([:])
    /// So many hosts are assigned round robin, the others by their hash.
    private static let assignmentLimit = 4096

    /// - Parameters:
    ///   - configuration: How the session works.
    ///   - eventLoops: The loops that carry it, each with a pool of connections of its own. Hosts are
    ///     assigned to them round robin, and stay there.
    ///     None means ``CurlewEventLoop/shared``.
    /// - Throws: ``CurlewError`` if the engine or the loop cannot be started, or the configuration cannot be used.
    public init(configuration: SessionConfiguration = SessionConfiguration(), eventLoops: [CurlewEventLoop] = []) throws
    {
        self.configuration = configuration
        defaults = try RequestDefaults(configuration)
        broadcaster = Broadcaster(bufferSize: configuration.eventBufferSize)
        let loops = eventLoops.isEmpty ? [try CurlewEventLoop.shared] : eventLoops
        rate = SharedRate(configuration.rateLimit)
        let invalidation = Invalidation(loops: loops.count, broadcaster: broadcaster)
        shards = try loops.map { [rate, broadcaster] loop in
            try SessionShard(
                loop: loop,
                ExchangeHost.Setting(
                    connections: configuration.connections, mostUnderWay: configuration.tasksInFlight,
                    progressInterval: configuration.progressInterval,
                    eventBodyLimit: max(0, configuration.eventBodyLimit.bytes), rate: rate, broadcaster: broadcaster,
                    onCancel: { invalidation.cancels() }, onEmpty: { invalidation.loopIsEmpty() }))
        }
        SessionRegistry.add(self)
    }

    deinit {
        SessionRegistry.remove(ObjectIdentifier(self))
        broadcaster.finish()
        connectivity.end()
        for shard in shards {
            let host = shard.host
            host.loop.core.execute { host.close() }
        }
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { shards[0].unownedExecutor }

    /// The loop that carries the session, or the first of them.
    public nonisolated var eventLoop: CurlewEventLoop { shards[0].loop }

    // MARK: Tasks

    /// Makes a task that gives its response to the caller. It starts suspended.
    /// - Throws: ``CurlewError`` if the request cannot be sent as it stands.
    public nonisolated func dataTask(_ request: CurlewRequest) throws -> TaskActor { try exchange(request).face }

    /// Makes an exchange that gives its response to the caller.
    /// - Parameter watcher: An object that is notified of the end of the exchange.
    /// - Throws: ``CurlewError`` if the request cannot be sent as it stands.
    nonisolated func exchange(
        _ request: CurlewRequest, watchedBy watcher: (any ExchangeWatcher)? = nil
    ) throws -> Exchange {
        do {
            let prepared = try PreparedRequest(request, defaults: defaults)
            let number = Self.lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
            let exchange = Exchange(
                number: number, request, prepared: prepared, host: shard(for: request.uri).host, session: self,
                watcher: watcher)
            request.options.suspensionGroup?.add(exchange)
            if let onTask = request.options.onTask { onTask(exchange.face) }
            return exchange
        } catch let error as CurlewError {
            throw error.adding(request)
        }
    }

    /// Makes a task that sends a body and gives its response to the caller. It starts suspended.
    ///
    /// Content-Length is sent wherever the length is known; a body of unknown length goes out chunked over HTTP/1.1.
    /// ``TaskActor/progress`` counts what was sent.
    /// - Parameters:
    ///   - request: The request. Its method should be one that takes a body.
    ///   - body: What is sent, in the place of the request's own.
    /// - Throws: ``CurlewError`` if the request cannot be sent as it stands, and if a file is not there or too short.
    public nonisolated func uploadTask(_ request: CurlewRequest, from body: CurlewRequest.Body) throws -> TaskActor {
        var request = request
        request.body = body
        request.options.kind = .upload
        return try dataTask(request)
    }

    private nonisolated func shard(for uri: CurlewURI) -> SessionShard {
        guard shards.count > 1 else { return shards[0] }
        // One loop for http and https: the one often redirects to the other.
        let isUsualPort = uri.port == 80 || uri.port == 443
        let host = isUsualPort ? uri.host.lowercased() : "\(uri.host.lowercased()):\(uri.port)"
        let index = shardsOfHosts.withLock { indices -> Int in
            if let index = indices[host] { return index }
            // Round robin, as by their hashes two hosts would share one of two loops half of the time.
            guard indices.count < Self.assignmentLimit else {
                return Int(host.hashValue.magnitude % UInt(shards.count))
            }
            let index = indices.count % shards.count
            indices[host] = index
            return index
        }
        return shards[index]
    }

    /// The tasks that were started and have not ended, in the order in which they were made.
    public nonisolated func tasks(_ kind: TaskActor.Kind? = nil) async -> [TaskActor] {
        var found: [TaskActor] = []
        for shard in shards { found += await shard.tasks }
        return found.filter { kind == nil || $0.kind == kind }.sorted { $0.id < $1.id }
    }

    /// What happens in the session from now on.
    public nonisolated var events: SessionEvent.Stream { SessionEvent.Stream(broadcaster: broadcaster) }

    /// Publishes the changes of circuits that links have.
    nonisolated func publishTransitions(of links: some CurlewMiddleware) {
        for breaker in links.links(of: CircuitBreaker.self) {
            let publisher = CircuitBreaker.Core.Publisher(
                identifier: ObjectIdentifier(self), isAlive: { [weak self] in self != nil },
                publish: { [weak self] transition in
                    var event = SessionEvent(.circuitChanged)
                    event.circuit = transition
                    self?.broadcaster.publish(event)
                })
            breaker.core.add(publisher)
        }
    }

    /// The number of open connections, idle ones included.
    public nonisolated func connectionCount() async -> Int {
        var count = 0
        for shard in shards { count += await shard.connectionCount }
        return count
    }

    /// Connects to the host of an `https` URL, shakes hands, and closes, without sending a request.
    /// - Parameters:
    ///   - url: The URL; host and port of it count.
    ///   - options: Route, timeouts and policy; what is nil is the session's.
    /// - Returns: What was agreed on with a server that the policy accepts.
    /// - Throws: ``CurlewError``; ``CurlewError/serverTrust`` describes a server that the policy does not accept.
    public nonisolated func connectionSecurity(
        of url: String, options: RequestOptions = RequestOptions()
    ) async throws -> ConnectionSecurity {
        var request = try CurlewRequest(.head, url, options: options)
        guard request.uri.scheme == "https" else {
            throw CurlewError(.unsupportedScheme, "only https has a handshake to look at")
        }
        request.options.isHandshakeOnly = true
        do {
            _ = try await exchange(request).run()
        } catch let error as CurlewError {
            if let agreed = error.handshake { return agreed }
            throw error
        }
        throw CurlewError(.engineFailed, "a request was sent where only a connection was wanted")
    }

    /// How fast the bodies of all the session's tasks together may flow.
    public nonisolated var rateLimit: RateLimit { rate.limit }

    /// Limits how fast the bodies of all the session's tasks together may flow, those under way included.
    ///
    /// The tasks take turns, a piece of at most 16 KiB each, on whichever of the session's loops they are; one that has a
    /// smaller limit of its own leaves the rest to the others. ``RateLimit/none`` lifts the limit, at once.
    public nonisolated func setRateLimit(_ limit: RateLimit) {
        rate.change(to: limit)
        for shard in shards {
            let host = shard.host
            host.loop.core.execute { host.rateLimitChanged() }
        }
    }

    // MARK: Connections

    /// Closes the connections that are kept without a request, on each loop where none is under way.
    public nonisolated func closeIdleConnections() async {
        for shard in shards { await shard.closeIdleConnections() }
    }

    /// Lets every connection go: those that nobody uses are closed, the others serve no new request, and are closed once
    /// the last under way has ended.
    ///
    /// For who knows that the network has changed. A kept connection over a network that is gone does not know that it is
    /// dead, and the request that it is used for learns so by its timeout. What is under way on a connection whose local
    /// address the machine has lost ends at once with ``ErrorCode/connectionLost``.
    public nonisolated func retireConnections() async {
        var hadAny = false
        for shard in shards where await shard.retireConnections() { hadAny = true }
        guard hadAny else { return }
        broadcaster.publish(SessionEvent(.networkChanged))
    }

    /// Calls ``retireConnections()`` whenever the network has become another one: the way there leaves by another interface,
    /// from other addresses or to other routers than before. It does so until the session ends.
    ///
    /// ```swift
    /// api.session?.followNetworkChanges(try ReachabilityMonitor().updates)
    /// ```
    /// - Parameter updates: The status of the network: first as it is now, then each change. It takes the place of one that
    ///   was followed before.
    public nonisolated func followNetworkChanges(
        _ updates: some AsyncSequence<ReachabilityStatus, Never> & Sendable
    ) {
        let following = Task { [weak self] in
            var network: ReachabilityStatus.Path?
            for await status in updates {
                guard let path = status.path else { continue }
                if let network, network != path { await self?.retireConnections() }
                network = path
            }
        }
        connectivity.follow(following)
    }

    // MARK: Ends

    /// Refuses new tasks. Those under way end with ``ErrorCode/sessionInvalidated`` if `cancelling`, else they
    /// continue. When the last has ended, ``SessionEvent/Kind/invalidated`` is published, once. What waits for the
    /// network ends with that error, too.
    ///
    /// An invalidated session stays so. To begin anew, make another from its ``configuration``.
    public nonisolated func invalidate(cancelling: Bool) async {
        for shard in shards { await shard.invalidate(cancelling: cancelling) }
        connectivity.endWaits()
    }

    /// Takes no more tasks, waits for those under way, and closes every connection.
    ///
    /// If the task that waits is cancelled, what is left is cancelled at once, and this returns when it has ended.
    /// - Parameter deadline: After so long, what is left is cancelled. nil waits as long as it takes.
    public nonisolated func shutdown(deadline: Duration? = nil) async {
        await invalidate(cancelling: false)
        let shards = shards
        let limit = deadline.map { deadline in
            Task.detached {
                try await Timekeeper.continuous.sleep(for: deadline)
                for shard in shards { await shard.invalidate(cancelling: true) }
            }
        }
        await withTaskCancellationHandler {
            for shard in shards { await shard.whenEmpty() }
        } onCancel: {
            for shard in shards {
                let host = shard.host
                host.loop.core.execute { host.invalidate(cancelling: true) }
            }
        }
        limit?.cancel()
        connectivity.end()
        for shard in shards { await shard.close() }
        broadcaster.finish()
    }
}

extension SessionConfiguration {
    /// The checks that the making of a session, and of a client with it, makes, for who has read a configuration and makes them
    /// later.
    /// - Throws: ``CurlewError`` for what cannot be used.
    package func check(baseURL: String? = nil) throws {
        _ = try RequestDefaults(self)
        try security.checkBase(try baseURL.map { try CurlewURI($0).asBase() })
    }
}

extension RequestDefaults {
    /// What a session's configuration says of each request.
    /// - Throws: ``CurlewError`` for what cannot be used.
    convenience init(_ configuration: SessionConfiguration) throws {
        if let agent = configuration.userAgent, !agent.utf8.allSatisfy(\.isFieldValueByte) {
            throw CurlewError(.invalidRequest, "the User-Agent of the session holds a control character")
        }
        try configuration.timeouts.check()
        try configuration.connections.check()
        let values = ConnectionOptions.Values(
            connectTimeout: configuration.timeouts.connect.millisecondsRoundedUp,
            readBufferSize: configuration.readBufferSize.bytes,
            nameLifetime: configuration.connections.nameLifetime.secondsRoundedUp,
            route: configuration.route,
            security: configuration.security,
            addressPolicy: configuration.addressPolicy,
            userAgent: configuration.userAgent)
        self.init(
            timeouts: configuration.timeouts, limits: configuration.limits,
            bodyBufferSize: configuration.bodyBufferSize, versionPolicy: configuration.versionPolicy,
            connection: try ConnectionOptions(values, proxies: ProxyResolver(configuration.proxy)))
    }
}
