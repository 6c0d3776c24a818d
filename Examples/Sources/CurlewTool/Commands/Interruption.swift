import Glibc
import UnixSignals

/// What happens on Ctrl-C: what is under way is ended in good order; a second one ends the process at once.
actor Interruption {
    private(set) var hasHappened = false
    private var watching: Task<Void, Never>?

    /// Returns when signals are watched.
    init(_ stop: @escaping @Sendable () async -> Void) async {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        watching = Task { [weak self] in
            for await _ in signals {
                if await self?.happens() != true { _exit(130) }
                Task { await stop() }
            }
        }
    }

    /// - Returns: Whether it is the first time.
    private func happens() -> Bool {
        defer { hasHappened = true }
        return !hasHappened
    }

    /// Signals are not watched any more.
    func end() { watching?.cancel() }
}
