import Glibc
import UnixSignals

/// The handling of Ctrl-C: the first one stops the running work in order, a second one ends the process at once.
actor Interruption {
    private(set) var hasHappened = false
    private var watching: Task<Void, Never>?

    /// Returns once signals are watched.
    init(_ stop: @escaping @Sendable () async -> Void) async {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        watching = Task { [weak self] in
            for await _ in signals {
                if await self?.happens() != true { _exit(130) }
                Task { await stop() }
            }
        }
    }

    /// - Returns: True for the first signal.
    private func happens() -> Bool {
        defer { hasHappened = true }
        return !hasHappened
    }

    /// Stops watching signals.
    func end() { watching?.cancel() }
}
