#if TestKit
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// The connections of a listener: the open connections, the task of each, and the counts.
final class ConnectionTable: Sendable {
    struct State: Sendable {
        var counts = ConnectionCounts()
        var open: [Int: AcceptedConnection] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        var isStopped = false
    }

    let state = Watched(State())

    /// Registers a new connection. Must be called on the channel's event loop, before the channel reads.
    ///
    /// Each of the first connections uses its own element of `contexts`; the last element also serves all later
    /// connections. An empty array means no TLS.
    func admit<Installed: Sendable>(
        _ channel: any Channel,
        contexts: [NIOSSLContext],
        faults: FaultScript,
        install: @escaping @Sendable (AcceptedConnection) throws -> Installed,
        serve: @escaping @Sendable (AcceptedConnection, Installed) async -> Void,
        discard: @escaping @Sendable (Installed) async -> Void
    ) throws {
        let connection = AcceptedConnection(index: self.nextIndex(), channel: channel)
        guard self.register(connection) else { throw ChannelError.alreadyClosed }
        let context = contexts.dropFirst(connection.index).first ?? contexts.last
        channel.closeFuture.whenComplete { _ in self.closed(connection) }

        try channel.pipeline.syncOperations.addHandler(WirePoint(), name: WirePoint.socket)
        let claimed = faults.claim(connection: connection.index)
        do {
            // Reading stops while a fault is committed, so the end of the client's direction must close the channel.
            if !claimed.isEmpty { try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false) }
        } catch {
            faults.miss(claimed, .noSuchMoment)
            throw error
        }
        // Only one of the claimed faults can happen: each of them ends the connection.
        let strike: @Sendable (Int) async -> Void = { index in
            let fault = claimed[index].fault
            let others = claimed.indices.filter { $0 != index }
            faults.miss(others.map { claimed[$0] }, .overtaken)
            faults.commit(CommittedFault(fault: fault, connectionIndex: connection.index, exchangeIndex: nil))
            await connection.commit(fault.effect, untilClientEnds: connection.closed)
        }
        if let index = claimed.firstIndex(where: { $0.fault.trigger == .onAccept || context == nil }) {
            return self.run(connection) {
                await strike(index)
                connection.abort()
            }
        }

        let installed = channel.eventLoop.makePromise(of: Installed.self)
        self.run(connection) {
            do {
                let installed = try await installed.futureResult.get()
                if claimed.isEmpty {
                    await serve(connection, installed)
                    connection.close()
                } else {
                    await strike(0)
                    connection.close()
                    await discard(installed)
                }
            } catch {
                faults.miss(claimed, .noSuchMoment)
                if context != nil { self.state.update { $0.counts.failedHandshakes += 1 } }
                connection.abort()
            }
        }
        do {
            if let context {
                try TLSAcceptor(connection: connection, context: context).install(installed, install)
            } else {
                try channel.pipeline.syncOperations.addHandler(WirePoint(), name: WirePoint.plain)
                installed.succeed(try install(connection))
            }
        } catch {
            installed.fail(error)
            throw error
        }
    }

    /// Aborts all connections, cancels all tasks, and rejects new connections.
    func stop() {
        let (open, tasks) = self.state.update { state in
            state.isStopped = true
            return (Array(state.open.values), Array(state.tasks.values))
        }
        for task in tasks { task.cancel() }
        for connection in open { connection.abort() }
    }

    /// Waits until no connection is open and no task runs.
    func idle() async throws {
        try await self.state.take { $0.open.isEmpty && $0.tasks.isEmpty ? () : nil }
    }

    private func nextIndex() -> Int {
        self.state.update { state in
            defer { state.counts.accepted += 1 }
            return state.counts.accepted
        }
    }

    private func register(_ connection: AcceptedConnection) -> Bool {
        self.state.update { state in
            guard !state.isStopped else { return false }
            state.open[connection.index] = connection
            state.counts.open = state.open.count
            return true
        }
    }

    private func run(_ connection: AcceptedConnection, _ body: @escaping @Sendable () async -> Void) {
        self.state.update { state in
            state.tasks[connection.index] = Task {
                await body()
                self.state.update { _ = $0.tasks.removeValue(forKey: connection.index) }
            }
            if state.isStopped { state.tasks[connection.index]?.cancel() }
        }
    }

    private func closed(_ connection: AcceptedConnection) {
        self.state.update { state in
            state.open[connection.index] = nil
            state.counts.open = state.open.count
        }
    }
}
#endif
