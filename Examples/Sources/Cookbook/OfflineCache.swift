import Curlew
import CurlewStorage

/// A cache on the disk that outlives the process, and answers while the server cannot be reached.
///
/// - Returns: The text, and the part that the cache had in it.
public func article(
    _ name: String, from base: String, cache folder: String, isOffline: Bool = false
) async throws -> (text: String, source: String) {
    let store = try await DiskCacheStore(folder: folder)
    var options = StandardChain.Options.singleUser
    options.cache = HTTPCache(store: store, mode: .singleUser)
    options.cache?.servesStaleOnFailure = true
    let site = try HTTPSession(baseURL: base, chain: options)
    let policy: HTTPCache.Policy = isOffline ? .onlyIfCached : .standard
    let response = try await site.get("articles/\(name)", options: RequestOptions().setting(\.cachePolicy, to: policy))
    let text = try await response.text()
    await options.cache?.flush()
    try await store.close()
    return (text, response.cacheStatus?.description ?? "no cache")
}
