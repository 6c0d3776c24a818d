import ArgumentParser
import Curlew
import CurlewStorage
import Glibc
import TerminalOutput

/// The disk cache that `curlew --cache URL` uses.
struct CacheFolder: ParsableArguments {
    @Option(
        name: .customLong("cache-folder"),
        help: "The folder of the cache; by default curlew in the user's folder for caches.")
    var path: String?

    /// Opens the cache; reports of discarded entries are written to standard error.
    func open() async throws -> DiskCacheStore {
        guard let folder = path ?? UserFolder.path("XDG_CACHE_HOME", in: ".cache") else {
            throw CurlewError(.cacheFailed, "there is neither XDG_CACHE_HOME nor HOME; --cache-folder names the folder")
        }
        return try await DiskCacheStore(folder: folder) { event in
            Terminal.write("curlew: the cache: \(printable("\(event)"))\n", to: STDERR_FILENO)
        }
    }
}
