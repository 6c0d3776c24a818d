import Curlew
import CurlewStorage
import Glibc
import SeededNumbers
import Synchronization

/// Twenty kills of a process that writes to, reads from and evicts from a disk cache, with a check of the cache after
/// each; then two such processes at once, without kills.
final class CacheCampaign {
    private var random: SeededNumbers
    private let folder = "/tmp/curlew-crash-cache-\(UInt64.random(in: 0...UInt64.max))"
    private static let kills = 20
    /// The time limit of the campaign.
    private let deadline = ContinuousClock.now.advanced(by: .seconds(40))

    init(seed: UInt64) { random = SeededNumbers(seed: seed ^ 0xCAC4E) }

    func run() async throws {
        guard mkdir(folder, 0o700) == 0 else { throw Finding("no folder: errno \(errno)") }
        defer { CacheUser.remove(folder) }
        var found = 0
        for _ in 0..<Self.kills {
            guard ContinuousClock.now < deadline else { throw Finding("it took too long") }
            let child = try ChildProcess(["cache", folder, String(random.next()), "0"])
            let end = await child.end(within: .milliseconds(1 + Int(random.next() % 1000)))
            guard end == .signal(SIGKILL) else { throw Finding("the process ended with \(end)") }
            found = try await check()
        }
        print("\(Self.kills) kills of a process with a cache, \(found) entries at last")
        let children = try (0..<2).map { _ in try ChildProcess(["cache", folder, String(random.next()), "1500"]) }
        for child in children {
            let end = await child.end(within: .seconds(20))
            guard end == .exit(0) else { throw Finding("one of two processes ended with \(end)") }
        }
        print("two processes with one cache, \(try await check()) entries at last")
    }

    /// Checks that every entry is complete and correct, and that no other files are left, whenever the kill came.
    private func check() async throws -> Int {
        let reports = Mutex<[String]>([])
        let store = try await CacheUser.store(folder) { event in
            // A killed process may leave files without an entry. The store removes them, which is not a fault.
            if event.kind != .leftoversRemoved { reports.withLock { $0.append(event.message) } }
        }
        let entries = try await store.list(after: nil, count: 100_000)
        for entry in entries {
            guard try await store.entries(for: entry.key).contains(entry) else {
                throw Finding("an entry is not found")
            }
            guard try await CacheUser.isRight(entry, in: store) == true else {
                throw Finding("the body of \(entry.uri) is not what was stored")
            }
        }
        let files = Set(entries.filter { $0.bodySize > DiskCacheStore.inlineLimit.bytes }.map(\.id.description))
        let names = CacheUser.names(in: "\(folder)/bodies")
        guard Set(names) == files else { throw Finding("\(names.count) files are left of \(files.count) bodies") }
        let contents = try await store.contents
        guard contents.entries == entries.count, contents.size <= contents.capacity else {
            throw Finding("the figures are wrong: \(contents)")
        }
        let incidents = reports.withLock { $0 }
        guard incidents.isEmpty else { throw Finding("\(incidents)") }
        try await store.close()
        return entries.count
    }
}
