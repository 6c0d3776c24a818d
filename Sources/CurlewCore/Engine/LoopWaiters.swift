/// The tasks that wait on a loop for a condition, in the order of their arrival.
///
/// A wait may end while its condition still holds. The task must check the condition again.
///
/// `@unchecked Sendable`: it is used only on its loop. A cancellation from another thread sends a command to the loop.
package final class LoopWaiters: @unchecked Sendable {
    /// A wait. `@unchecked Sendable` for the same reason.
    private final class Wait: @unchecked Sendable {
        @exclusivity(unchecked) var continuation: CheckedContinuation<Void, any Error>?
        @exclusivity(unchecked) var isCancelled = false
    }

    private let loop: CurlewEventLoop
    @exclusivity(unchecked) private var waits: [Wait] = []

    package init(on loop: CurlewEventLoop) { self.loop = loop }

    package var isEmpty: Bool { waits.isEmpty }
    package var count: Int { waits.count }

    /// Waits on the loop.
    /// - Parameters:
    ///   - condition: True while there is a reason to wait. It is evaluated when the wait is registered, because the
    ///     runtime may run other work on the loop before that.
    ///   - isShielded: True if a cancellation of the task does not end the wait.
    ///   - isolation: The waiting actor, which runs on the loop.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cancelled``, or an error that ends all waits.
    package func wait(
        while condition: @autoclosure () -> Bool, isShielded: Bool = false,
        isolation: isolated (any Actor) = #isolation
    ) async throws {
        let wait = Wait()
        try await withTaskCancellationHandler {
            // A closure runs only on the actor that it captures.
            try await withCheckedThrowingContinuation(isolation: isolation) {
                (continuation: CheckedContinuation<Void, any Error>) in
                loop.core.checkIsolated()
                if wait.isCancelled { return continuation.resume(throwing: Self.cancellation) }
                guard condition() else { return continuation.resume() }
                wait.continuation = continuation
                waits.append(wait)
            }
        } onCancel: {
            if !isShielded { loop.core.execute { self.cancel(wait) } }
        }
    }

    private func cancel(_ wait: Wait) {
        wait.isCancelled = true
        guard let index = waits.firstIndex(where: { $0 === wait }) else { return }
        waits.remove(at: index)
        wait.continuation?.resume(throwing: Self.cancellation)
    }

    private static var cancellation: CurlewError { CurlewError(.cancelled, "the task was cancelled") }

    /// Ends the first wait.
    package func resumeFirst() { if !waits.isEmpty { waits.removeFirst().continuation?.resume() } }

    /// Ends all waits.
    package func resumeAll() { for wait in take() { wait.continuation?.resume() } }

    package func resumeAll(throwing error: CurlewError) {
        for wait in take() { wait.continuation?.resume(throwing: error) }
    }

    private func take() -> [Wait] {
        defer { waits = [] }
        return waits
    }
}
