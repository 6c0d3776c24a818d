/// A validation behind the caller's back. Whatever becomes of it, another one may begin afterwards.
final class BackgroundValidation: Sendable {
    private let core: CacheCore
    private let id: HTTPCache.Entry.ID
    private let hasEnded = Guarded(false)

    init(core: CacheCore, id: HTTPCache.Entry.ID) {
        self.core = core
        self.id = id
    }

    deinit { end() }

    /// Once: another validation of the entry may have begun since.
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
        // Not before: without this the last use of the object would be above.
        end()
    }
}
