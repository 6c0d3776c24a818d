#if TestKit
internal import NIOCore

extension AcceptedConnection {
    /// Applies `effect` to the connection; returns when that is done.
    ///
    /// - Parameter untilClientEnds: Returns when the client has ended its direction or disconnected, or the task is
    ///   cancelled. A stall lasts that long.
    func commit(_ effect: Fault.Effect, untilClientEnds: () async -> Void) async {
        switch effect.kind {
        case .close: self.close()
        case .reset: self.reset()
        case .truncate: self.abort()
        case .garbage(let bytes):
            try? await self.writePlain(bytes)
            // A close with unread bytes of the client would become a reset and might overtake the sent bytes.
            self.closeOutput()
            return await untilClientEnds()
        case .halfClose:
            self.closeOutput()
            return await untilClientEnds()
        case .stall, .goAway, .resetStream:
            return await untilClientEnds()
        }
        await self.closed()
    }

    /// Sends bytes that bypass the HTTP layer; over TLS they are encrypted.
    func writePlain(_ bytes: [UInt8]) async throws {
        let channel = self.channel
        try await channel.eventLoop.flatSubmit {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            do {
                let pipeline = channel.pipeline.syncOperations
                // Writes from a context pass only the handlers between it and the socket: TLS, but not HTTP.
                let name = self.tls?.version == nil ? WirePoint.socket : WirePoint.plain
                let context = try pipeline.context(name: name)
                context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: promise)
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }.get()
    }

    /// Returns when the connection is closed or the task is cancelled.
    func closed() async {
        let isClosed = Watched(false)
        self.channel.closeFuture.whenComplete { _ in isClosed.update { $0 = true } }
        _ = try? await isClosed.wait { $0 }
    }
}
#endif
