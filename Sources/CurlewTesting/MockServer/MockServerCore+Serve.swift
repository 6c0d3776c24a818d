#if TestKit
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

extension MockServerCore {
    /// Answers the requests of a connection one after another.
    func serveHTTP1(_ connection: AcceptedConnection, _ port: ServerPort) async throws {
        try await self.cancelling(whenClosed: port.channel) {
            var index = 0
            while case .head(let head) = try await port.next() {
                let version: ProtocolVersion = head.version.minor == 0 ? .http10 : .http11
                let exchange = Exchange(
                    core: self,
                    connection: connection,
                    port: port,
                    head: head,
                    version: version,
                    index: index
                )
                guard try await exchange.run() else { break }
                index += 1
            }
            try await port.drained()
        }
    }

    /// Answers each stream of a connection in its own task.
    func serveHTTP2(
        _ connection: AcceptedConnection,
        _ multiplexer: NIOHTTP2Handler.AsyncStreamMultiplexer<ServerPort>
    ) async {
        await withDiscardingTaskGroup { group in
            var index = 0
            do {
                for try await port in multiplexer.inbound {
                    let number = index
                    index += 1
                    group.addTask {
                        try? await self.cancelling(whenClosed: port.channel) {
                            try await self.serveStream(connection, port, index: number)
                        }
                    }
                }
            } catch {
                group.cancelAll()
            }
        }
    }

    /// Takes the streams of a closed connection without serving them. A stream that stays in the sequence retains the
    /// sequence, so neither would be released.
    func discard(_ layer: EventLoopFuture<HTTPLayer>) async {
        guard case .http2(let multiplexer)? = try? await layer.get() else { return }
        do { for try await _ in multiplexer.inbound {} } catch {}
    }

    private func serveStream(_ connection: AcceptedConnection, _ port: ServerPort, index: Int) async throws {
        guard case .head(let head) = try await port.next() else { return }
        let exchange = Exchange(
            core: self,
            connection: connection,
            port: port,
            head: head,
            version: .http2,
            index: index
        )
        let continues = try await exchange.run()
        if !continues { try? await port.drained() }
    }

    /// Runs `body` in a task that is cancelled when the channel closes or the caller is cancelled.
    private func cancelling(
        whenClosed channel: any Channel,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task { try await body() }
        channel.closeFuture.whenComplete { _ in task.cancel() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
#endif
