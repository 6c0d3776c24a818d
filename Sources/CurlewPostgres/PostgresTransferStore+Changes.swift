#if Postgres
internal import Curlew
internal import CurlewStorage

/// How those who listen hear of changes.
extension PostgresTransferStore {
    /// The net under the notifications.
    private static let pollInterval = Duration.seconds(5)

    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: UInt64? = listeners.withLock { listeners in
            guard !listeners.isClosed else { return nil }
            listeners.last += 1
            listeners.all[listeners.last] = continuation
            if listeners.task == nil {
                listeners.task = Task { [weak self] in await Self.listen { [weak self] in self } }
            }
            return listeners.last
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { listeners in
                listeners.all[number] = nil
                guard listeners.all.isEmpty else { return }
                listeners.task?.cancel()
                listeners.task = nil
            }
        }
        return stream
    }

    /// Listens on a connection of its own, until it is cancelled.
    private static func listen(_ store: @escaping @Sendable () -> PostgresTransferStore?) async {
        guard let settings = store()?.settings, let queue = store()?.queue else { return }
        let link = PostgresLink(settings) { connection in
            try await PostgresMigration.setUp(connection, settings)
            _ = try await connection.run("LISTEN curlew_queue")
        }
        let payload = "\(settings.schema)/\(queue)"
        await withTaskCancellationHandler {
            var last: PostgresConnection?
            var look = ContinuousClock.now
            while !Task.isCancelled {
                do {
                    let connection = try await link.open()
                    let left = ContinuousClock.now.duration(to: look)
                    // What happened before it listened was not heard.
                    let isNew = connection !== last
                    last = connection
                    let payloads = isNew ? [] : try await connection.notifications(within: max(.zero, left))
                    if !isNew, !payloads.contains(payload), ContinuousClock.now < look { continue }
                } catch {
                    // Meanwhile listeners look by themselves.
                    try? await Task.sleep(for: .milliseconds(500))
                }
                look = .now.advanced(by: pollInterval)
                store()?.tell()
            }
        } onCancel: {
            // An attempt to connect may take long.
            Task { await link.close() }
        }
        await link.close()
    }

    private func tell() {
        for listener in listeners.withLock({ Array($0.all.values) }) { listener.yield() }
    }
}
#endif
