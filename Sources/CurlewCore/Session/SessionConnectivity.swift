/// The waits of a session for the network, and the monitors that they need.
final class SessionConnectivity: Sendable {
    private struct Reference: Sendable {
        weak var monitor: ReachabilityMonitor?
    }

    private struct State {
        var monitors: [ReachabilityTarget: Reference] = [:]
        var source = NetworkSource()
        var following: Task<Void, Never>?
        var hasEnded = false
        var waits: [UInt64: Task<Bool, Never>] = [:]
        var lastWait: UInt64 = 0
        var isWaitingOver = false
        var waitCount = 0
    }

    private let state = Guarded(State())

    /// The monitor of a request's target. All requests with the same target share it.
    /// - Throws: ``CurlewError`` if the monitor cannot be made.
    func monitor(of target: ReachabilityTarget) throws -> ReachabilityMonitor {
        try state.withLock { state in
            if let monitor = state.monitors[target]?.monitor { return monitor }
            state.monitors = state.monitors.filter { $0.value.monitor != nil }
            let made = try ReachabilityMonitor(target, source: state.source)
            state.monitors[target] = Reference(monitor: made)
            return made
        }
    }

    /// The targets that have monitors.
    var targets: Set<ReachabilityTarget> {
        state.withLock { Set($0.monitors.filter { $0.value.monitor != nil }.keys) }
    }

    /// The number of times that a request began to wait for a network that is known to be absent.
    var waitCount: Int { state.withLock { $0.waitCount } }

    /// Sets the source of the monitors that are made from now on. For tests.
    func use(_ source: NetworkSource) { state.withLock { $0.source = source } }

    func follow(_ following: Task<Void, Never>) {
        let before = state.withLock { state in
            guard !state.hasEnded else { return Optional(following) }
            defer { state.following = following }
            return state.following
        }
        before?.cancel()
    }

    /// Waits until the operation ends or the session rejects new requests.
    /// - Returns: The result of the operation; true if the session rejects new requests, because a wait is then
    ///   pointless.
    func wait(_ wait: @escaping @Sendable () async -> Bool) async -> Bool {
        let begun: (number: UInt64, task: Task<Bool, Never>)? = state.withLock { state in
            guard !state.isWaitingOver else { return nil }
            state.lastWait += 1
            let task = Task { await wait() }
            state.waits[state.lastWait] = task
            return (state.lastWait, task)
        }
        guard let begun else { return true }
        let isOver = await withTaskCancellationHandler {
            await begun.task.value
        } onCancel: {
            begun.task.cancel()
        }
        return state.withLock { state in
            state.waits[begun.number] = nil
            return isOver || state.isWaitingOver
        }
    }

    /// Ends all waits, because the session rejects new requests.
    func endWaits() {
        let waits = state.withLock { state in
            state.isWaitingOver = true
            return Array(state.waits.values)
        }
        for wait in waits { wait.cancel() }
    }

    func end() {
        let following = state.withLock { state in
            state.hasEnded = true
            defer { state.following = nil }
            return state.following
        }
        following?.cancel()
    }
}

extension SessionConnectivity {
    /// Sends a request. If there is no network, waits for it.
    /// - Parameters:
    ///   - limit: The longest wait, over all attempts.
    ///   - defaults: Route and proxy of requests that have none of their own.
    ///   - onWait: Called before each wait with the error that caused it.
    ///   - next: Sends the request.
    func send(
        _ request: CurlewRequest, waitingFor limit: Duration,
        defaults: (route: ConnectionRoute, proxy: Proxy.Configuration),
        onWait: @escaping @Sendable (CurlewError) -> Void = { _ in }, next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        guard limit > .zero else { return try await next(request) }
        // Most requests connect, and need no monitor: it is made on demand.
        let network = NetworkChanges { onWait in
            guard let updates = try? self.updates(for: request, defaults) else { return false }
            return await self.wait { await NetworkChanges(updates).isBack(onWait) }
        }
        var link = ConnectivityWait(network, limit: limit)
        link.onWait = { _, error in
            self.state.withLock { $0.waitCount += 1 }
            onWait(error)
        }
        return try await link.intercept(request, next: next)
    }

    /// The updates for a request: of the path to an address if the URL has one, otherwise of all networks. nil for a
    /// Unix socket.
    private func updates(
        for request: CurlewRequest, _ defaults: (route: ConnectionRoute, proxy: Proxy.Configuration)
    ) throws -> ReachabilityMonitor.Updates? {
        guard (request.options.route ?? defaults.route).unixSocket == nil else { return nil }
        let proxy = request.options.proxy ?? defaults.proxy
        let address = IPAddress(host: request.uri.host)
        let destination = proxy == .none ? address.map { ReachabilityTarget.Destination($0) } : nil
        return try monitor(of: destination.map { .address($0) } ?? .everything).updates
    }
}
