internal import HTTPTypes
internal import Synchronization

/// A session: its connections, its running tasks, and the limits and events that its users share.
///
/// A session ends by itself after its last reference and its last task are gone; ``shutdown(deadline:)`` waits for the
/// tasks. ``HTTPSession`` is the convenient interface to a session.
public actor SessionActor {
    /// The configuration of the session.
    public nonisolated let configuration: SessionConfiguration
    nonisolated let shards: [SessionShard]
    nonisolated let gauges: SessionGauges
    private nonisolated let defaults: RequestDefaults
    nonisolated let broadcaster: Broadcaster<SessionEvent>
    nonisolated let rate: SharedRate
    nonisolated let connectivity = SessionConnectivity()
    private static let lastIdentifier = Atomic<UInt64>(0)
    /// The index of the shard of each host.
    private nonisolated let shardsOfHosts = Guarded<[String: Int]>([:])
    /// The number of hosts that are assigned round robin. Further hosts are assigned by their hash.
    private static let assignmentLimit = 4096

    /// - Parameters:
    ///   - configuration: The configuration of the session.
    ///   - eventLoops: The loops of the session, each with its own connection pool. Hosts are assigned to the loops
    ///     round robin, and stay there. An empty array means ``CurlewEventLoop/shared``.
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
        gauges = SessionGauges(shards)
        SessionRegistry.add(ObjectIdentifier(self), shards)
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

    /// The loop of the session; with several loops, the first.
    public nonisolated var eventLoop: CurlewEventLoop { shards[0].loop }

    // MARK: Tasks

    /// Makes a task that returns its response to the caller. The task starts suspended.
    /// - Throws: ``CurlewError`` if the request is invalid.
    public nonisolated func dataTask(_ request: CurlewRequest) throws -> TaskActor { try exchange(request).face }

    /// Makes an exchange that returns its response to the caller.
    /// - Parameter watcher: An object that is notified of the end of the exchange.
    /// - Throws: ``CurlewError`` if the request is invalid.
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

    /// Makes a task that sends a body and returns its response to the caller. The task starts suspended.
    ///
    /// Content-Length is sent if the length is known; a body of unknown length is sent chunked over HTTP/1.1.
    /// ``TaskActor/progress`` counts the sent bytes.
    /// - Parameters:
    ///   - request: The request. Its method should permit a body.
    ///   - body: The body, which replaces the request's own.
    /// - Throws: ``CurlewError`` if the request is invalid, and if a file is missing or too short.
    public nonisolated func uploadTask(_ request: CurlewRequest, from body: CurlewRequest.Body) throws -> TaskActor {
        var request = request
        request.body = body
        request.options.kind = .upload
        return try dataTask(request)
    }

    private nonisolated func shard(for uri: CurlewURI) -> SessionShard {
        guard shards.count > 1 else { return shards[0] }
        // http and https share a loop, because http often redirects to https.
        let isUsualPort = uri.port == 80 || uri.port == 443
        let host = isUsualPort ? uri.host.lowercased() : "\(uri.host.lowercased()):\(uri.port)"
        let index = shardsOfHosts.withLock { indices -> Int in
            if let index = indices[host] { return index }
            // Round robin, because hashes would put two hosts on the same of two loops in half of the cases.
            guard indices.count < Self.assignmentLimit else {
                return Int(host.hashValue.magnitude % UInt(shards.count))
            }
            let index = indices.count % shards.count
            indices[host] = index
            return index
        }
        return shards[index]
    }

    /// The tasks that were started and have not ended, in the order of their creation.
    public nonisolated func tasks(_ kind: TaskActor.Kind? = nil) async -> [TaskActor] {
        var found: [TaskActor] = []
        for shard in shards { found += await shard.tasks }
        return found.filter { kind == nil || $0.kind == kind }.sorted { $0.id < $1.id }
    }

    /// The events of the session from now on.
    public nonisolated var events: SessionEvent.Stream { SessionEvent.Stream(broadcaster: broadcaster) }

    /// Publishes the state changes of the circuit breakers among the links.
    nonisolated func publishTransitions(of links: some CurlewMiddleware) {
        for breaker in links.links(of: (any CircuitPublishing).self) {
            breaker.add(
                CircuitPublisher(
                    identifier: ObjectIdentifier(self), isAlive: { [weak self] in self != nil },
                    publish: { [weak self] transition in
                        var event = SessionEvent(.circuitChanged)
                        event.circuit = transition
                        self?.broadcaster.publish(event)
                    }))
        }
    }

    /// The number of open connections, idle ones included.
    public nonisolated func connectionCount() async -> Int {
        var count = 0
        for shard in shards { count += await shard.connectionCount }
        return count
    }

    /// Connects to the host of an `https` URL, performs the TLS handshake, and closes, without sending a request.
    /// - Parameters:
    ///   - url: The URL; only its host and port matter.
    ///   - options: Route, timeouts and policy; an option that is nil is the session's.
    /// - Returns: The negotiated security of the connection to a server that the policy accepts.
    /// - Throws: ``CurlewError``; ``CurlewError/serverTrust`` describes a server that the policy does not accept.
    public nonisolated func connectionSecurity(
        of url: String, options: RequestOptions = RequestOptions()
    ) async throws -> ConnectionSecurity {
        var request = try CurlewRequest(.head, url, options: options)
        guard request.uri.scheme == "https" else {
            throw CurlewError(.unsupportedScheme, "only https has a handshake")
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

    /// The greatest rate of the bodies of all the session's tasks together.
    public nonisolated var rateLimit: RateLimit { rate.limit }

    /// Limits the rate of the bodies of all the session's tasks together, including running tasks.
    ///
    /// The tasks of all the session's loops take turns, with pieces of at most 16 KiB. A task with a smaller limit of
    /// its own leaves the rest to the others. ``RateLimit/none`` removes the limit immediately.
    public nonisolated func setRateLimit(_ limit: RateLimit) {
        rate.change(to: limit)
        for shard in shards {
            let host = shard.host
            host.loop.core.execute { host.rateLimitChanged() }
        }
    }

    // MARK: Connections

    /// Closes the idle connections of each loop without a running request.
    public nonisolated func closeIdleConnections() async {
        for shard in shards { await shard.closeIdleConnections() }
    }

    /// Retires every connection: idle ones are closed. The others accept no new request, and are closed after their
    /// last request has ended.
    ///
    /// Call it when the network has changed. A kept connection does not detect that its network is gone, so its next
    /// request would fail by its timeout. Requests on a connection whose local address the machine has lost end at once
    /// with ``ErrorCode/connectionLost``.
    public nonisolated func retireConnections() async {
        var hadAny = false
        for shard in shards where await shard.retireConnections() { hadAny = true }
        guard hadAny else { return }
        broadcaster.publish(SessionEvent(.networkChanged))
    }

    /// Calls ``retireConnections()`` after each change of the network: another interface, other local addresses or
    /// other routers on the path. It does so until the session ends.
    ///
    /// ```swift
    /// api.session?.followNetworkChanges(try ReachabilityMonitor().updates)
    /// ```
    /// - Parameter updates: The status of the network: first the present one, then each change. It replaces the updates
    ///   of an earlier call.
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

    // MARK: Shutdown

    /// Rejects new tasks. Running tasks end with ``ErrorCode/sessionInvalidated`` if `cancelling` is true; otherwise
    /// they continue. After the last has ended, ``SessionEvent/Kind/invalidated`` is published, once. Tasks that wait
    /// for the network end with the same error.
    ///
    /// An invalidated session stays invalidated. A new session can be made from its ``configuration``.
    public nonisolated func invalidate(cancelling: Bool) async {
        for shard in shards { await shard.invalidate(cancelling: cancelling) }
        connectivity.endWaits()
    }

    /// Rejects new tasks, waits for the running ones, and closes every connection.
    ///
    /// If the waiting task is cancelled, the remaining tasks are cancelled at once, and the function returns after they
    /// have ended.
    /// - Parameter deadline: The time after which the remaining tasks are cancelled. nil waits without a limit.
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
    /// The checks of a configuration that a session, and a client with it, performs when it is made. They allow a
    /// program to check a configuration before it makes the session.
    /// - Throws: ``CurlewError`` for values that cannot be used.
    package func check(baseURL: String? = nil) throws {
        _ = try RequestDefaults(self)
        try security.checkBase(try baseURL.map { try CurlewURI($0).asBase() })
    }
}

extension RequestDefaults {
    /// The request defaults of a session's configuration.
    /// - Throws: ``CurlewError`` for values that cannot be used.
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
