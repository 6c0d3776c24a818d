#if Postgres
internal import Dispatch

/// A wait until a socket is readable or writable. It blocks no thread: the kernel notifies Dispatch's loop.
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
    ///   - descriptor: The socket. It must have no other waiter, and must stay open until this function returns.
    ///   - timeout: The maximum wait.
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

    /// A single wait. Unchecked, because only the queue uses its state.
    private final class Wait: @unchecked Sendable {
        private var source: (any DispatchSourceProtocol)?
        private var timer: (any DispatchSourceTimer)?
        private var outcome: Outcome?

        func begin(
            _ descriptor: Int32, _ direction: Direction, _ timeout: Duration, _ queue: DispatchQueue,
            _ continuation: CheckedContinuation<Outcome, Never>
        ) {
            // The wait was cancelled before it began.
            if let outcome { return continuation.resume(returning: outcome) }
            let source: any DispatchSourceProtocol =
                direction == .reading
                ? DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
                : DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { self.end(.ready) }
            // After this handler Dispatch no longer uses the socket, so it may be closed.
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
