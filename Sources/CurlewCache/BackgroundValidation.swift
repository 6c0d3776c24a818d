/// A validation in the background. The entry can be validated again after its end, whatever its outcome.
final class BackgroundValidation: Sendable {
    private let core: CacheCore
    private let id: HTTPCache.Entry.ID
    private let hasEnded = Guarded(false)

    init(core: CacheCore, id: HTTPCache.Entry.ID) {
        self.core = core
        self.id = id
    }

    deinit { end() }

    /// Ends the validation once. A second end could end another validation of the entry.
    private func end() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { core.endValidation(of: id) }
    }

    func finish(
        _ exchange: CacheExchange, _ entry: HTTPCache.Entry, _ found: CacheLookup.Found,
        _ result: Result<CurlewResponse, any Error>
    ) async {
        await exchange.store(result, of: entry, found)
        // This call keeps the object alive until the response is stored.
        end()
    }
}
