extension TaskActor {
    nonisolated func bodySource(for transfer: Transfer) -> UploadSource? {
        enter(transfer) { $0.makeSource($1) }
    }

    /// Not asked before the engine wants the first byte: a connection that fails costs a stream nothing.
    private func makeSource(_ transfer: Transfer) -> UploadSource? {
        sources += 1
        guard sources == 1 || prepared.body.isReplayable else { return nil }
        switch prepared.body.source {
        case .none: return UploadSource.none
        case .bytes(let bytes): return .bytes(bytes)
        case let source:
            let channel = UploadChannel(capacity: prepared.bodyBufferSize) { [loop] in
                loop.core.execute { transfer.bodyArrived() }
            }
            pump?.cancel()
            let length = prepared.contentLength
            pump = Task.detached { await UploadPump.run(source, length: length, into: channel) }
            return .channel(channel)
        }
    }
}
