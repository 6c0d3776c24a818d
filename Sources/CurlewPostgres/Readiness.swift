#if Postgres
internal import Dispatch

/// Waits until a socket can be read or written. No thread waits: the kernel tells Dispatch's loop.
enum Readiness {
    enum Direction: Sendable {
        case reading
        case writing
    }

    enum Outcome: Sendable {
        case ready
        case timedOut
        case cancelled
    }

    private static let queue = DispatchQueue(label: "curlew.postgres")

    /// - Parameters:
    ///   - descriptor: The socket. Nobody else waits for it, and it stays open until this returns.
    ///   - timeout: The longest wait.
    static func wait(for descriptor: Int32, _ direction: Direction, _ timeout: Duration) async -> Outcome {
        let wait = Wait()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { wait.begin(descriptor, direction, timeout, queue, continuation) }
            }
        } onCancel: {
            queue.async { wait.end(.cancelled) }
        }
    }

    /// One wait. Unchecked, for all of it is touched on the queue alone.
    private final class Wait: @unchecked Sendable {
        private var source: (any DispatchSourceProtocol)?
        private var timer: (any DispatchSourceTimer)?
        private var outcome: Outcome?

        func begin(
            _ descriptor: Int32, _ direction: Direction, _ timeout: Duration, _ queue: DispatchQueue,
            _ continuation: CheckedContinuation<Outcome, Never>
        ) {
            // It was cancelled before it began.
            if let outcome { return continuation.resume(returning: outcome) }
            let source: any DispatchSourceProtocol =
                direction == .reading
                ? DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
                : DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { self.end(.ready) }
            // From here on nobody looks at the socket any more: it may be closed.
            source.setCancelHandler { continuation.resume(returning: self.outcome ?? .cancelled) }
            self.source = source
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + .milliseconds(Int(timeout / .milliseconds(1))))
            timer.setEventHandler { self.end(.timedOut) }
            self.timer = timer
            source.resume()
            timer.resume()
        }

        func end(_ outcome: Outcome) {
            guard self.outcome == nil else { return }
            self.outcome = outcome
            timer?.cancel()
            source?.cancel()
            timer = nil
            source = nil
        }
    }
}
#endif
