#if Storage
import Curlew
import CurlewStorage

/// The code of the article Caching that needs a disk; the tests of the documentation compare the two.
enum CacheSnippets {
    private func singleUser() async throws -> HTTPSession {
        let store = try await DiskCacheStore(folder: "/home/me/.cache/birds")
        var options = StandardChain.Options.singleUser
        options.cache = HTTPCache(store: store, mode: .singleUser)
        let api = try HTTPSession(baseURL: "https://api.example.com/", chain: options)
        return api
    }
}
#endif
