#if Postgres
internal import Curlew
internal import CurlewStorage

/// The notification of listeners about changes.
extension PostgresTransferStore {
    /// The interval of polling, in case a notification is lost.
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

    /// Listens on its own connection until the task is cancelled.
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
                    // Changes before the connection began to listen caused no notification, so a new connection counts
                    // as a possible change.
                    let isNew = connection !== last
                    last = connection
                    let payloads = isNew ? [] : try await connection.notifications(within: max(.zero, left))
                    if !isNew, !payloads.contains(payload), ContinuousClock.now < look { continue }
                } catch {
                    // While the database cannot be reached, the listeners are notified after each attempt, so that they
                    // poll.
                    try? await Task.sleep(for: .milliseconds(500))
                }
                look = .now.advanced(by: pollInterval)
                store()?.tell()
            }
        } onCancel: {
            // An attempt to connect may take long, so it is cancelled at once.
            Task { await link.close() }
        }
        await link.close()
    }

    private func tell() {
        for listener in listeners.withLock({ Array($0.all.values) }) { listener.yield() }
    }
}
#endif
