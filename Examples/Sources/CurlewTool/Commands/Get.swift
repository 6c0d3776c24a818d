import ArgumentParser
import Curlew
import CurlewStorage

/// `curlew [URL]`: a GET, or the tour.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch a URL and show how it went; without one, show some exchanges with an embedded server.")

    @Argument(help: "What to fetch.")
    var url: String?

    @Flag(help: "Answer from a cache on the disk where HTTP allows it, and store there; see 'curlew cache'.")
    var cache = false

    @OptionGroup var folder: CacheFolder

    func validate() throws {
        guard url != nil || !cache else { throw ValidationError("The cache is for a URL.") }
    }

    func run() async throws {
        guard let url else { return try await Demo.tour() }
        guard cache else { return try await Demo.get(url) }
        let store = try await folder.open()
        let cache = HTTPCache(store: store, mode: .singleUser)
        do {
            try await Demo.get(url, cache)
        } catch {
            try? await store.close()
            throw error
        }
        await cache.flush()
        try await store.close()
    }
}
