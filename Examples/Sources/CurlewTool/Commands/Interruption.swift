import Glibc
import Synchronization
import UnixSignals

/// What happens on Ctrl-C: what is under way is ended in good order; a second one ends the process at once.
actor Interruption {
    private(set) var hasHappened = false
    private var watching: Task<Void, Never>?

    init(_ stop: @escaping @Sendable () async -> Void) {
        Task { await self.watch(stop) }
    }

    private func watch(_ stop: @escaping @Sendable () async -> Void) {
        watching = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                if hasHappened { _exit(130) }
                hasHappened = true
                Task { await stop() }
            }
        }
    }

    /// Signals are not watched any more.
    func end() { watching?.cancel() }
}
