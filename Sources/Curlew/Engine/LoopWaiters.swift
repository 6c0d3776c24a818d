/// Tasks that wait on a loop, first come first served.
///
/// `@unchecked Sendable`: it is touched on its loop alone; a cancellation comes from elsewhere, and sends a command there.
package final class LoopWaiters<Value: Sendable>: @unchecked Sendable {
    private struct Entry {
        let number: UInt64
        let continuation: CheckedContinuation<Value, any Error>
    }

    private let loop: CurlewEventLoop
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var lastNumber: UInt64 = 0

    package init(on loop: CurlewEventLoop) { self.loop = loop }

    package var isEmpty: Bool { entries.isEmpty }

    /// Waits, on the loop.
    /// - Parameters:
    ///   - isShielded: True if a cancellation of the task does not end the wait.
    ///   - isolation: The actor on the loop that waits.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cancelled``, or what ends all waits.
    package func wait(
        isShielded: Bool = false, isolation: isolated (any Actor) = #isolation
    ) async throws -> Value {
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            // A closure runs on the actor that it captures, and on no other.
            try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
                // Between the look at what is waited for and this, nothing else may run.
                loop.core.checkIsolated()
                entries.append(Entry(number: number, continuation: continuation))
            }
        } onCancel: {
            // It runs after the wait has begun, as that is on the loop already.
            if !isShielded { loop.core.execute { self.cancel(number) } }
        }
    }

    private func cancel(_ number: UInt64) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        entries.remove(at: index).continuation.resume(
            throwing: CurlewError(.cancelled, "the task was cancelled"))
    }

    /// Ends the first wait.
    /// - Returns: False if there is none.
    @discardableResult
    package func resumeFirst(returning value: Value) -> Bool {
        guard !entries.isEmpty else { return false }
        entries.removeFirst().continuation.resume(returning: value)
        return true
    }

    package func resumeAll(returning value: Value) {
        let resumed = entries
        entries = []
        for entry in resumed { entry.continuation.resume(returning: value) }
    }

    package func resumeAll(throwing error: CurlewError) {
        let resumed = entries
        entries = []
        for entry in resumed { entry.continuation.resume(throwing: error) }
    }
}

extension LoopWaiters where Value == Void {
    @discardableResult
    package func resumeFirst() -> Bool { resumeFirst(returning: ()) }
}
