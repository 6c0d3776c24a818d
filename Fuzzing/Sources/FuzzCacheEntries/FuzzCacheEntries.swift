internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCache
@testable internal import CurlewCore

/// A fuzz target for encoded cache entries. A decoded entry must stay equal after encoding and decoding, must be usable
/// without a trap, and must stay within its bounds. The checksum is corrected first, because nearly every input would
/// otherwise be rejected.
///
/// The input is an entry without its checksum.
@main
struct FuzzCacheEntries: FuzzTarget {
    static func check(_ input: [UInt8]) {
        require((try? HTTPCache.Entry(encoded: input)) == nil || input.count > 5, "an entry of nothing")
        guard let entry = try? HTTPCache.Entry(encoded: input + Checksum.bytes(of: input)) else { return }
        requireEqual(try? HTTPCache.Entry(encoded: entry.encoded), entry, "it is another one when read again")
        require(entry.bodySize >= 0, "a negative number of bytes")
        require(entry.range.map { $0.upperBound - $0.lowerBound == entry.bodySize } ?? true, "a part of another size")
        require(entry.head.headerFields.allSatisfy { !$0.value.utf8.contains(0) }, "a value with NUL")
        guard let request = try? CurlewRequest(.get, "http://example.com/") else { return require(false, "no request") }
        for mode in [HTTPCache.Mode.private, .shared] {
            let judge = CacheJudge(mode: mode, heuristicLimit: 86_400, servesStaleOnFailure: true)
            for now in [0, 1_800_000_000, Int64.max, .min] {
                let seen = CacheRequest(request, at: now)
                let freshness = judge.freshness(of: entry, at: now)
                require(0...CacheDirectives.longest ~= freshness.age, "an age is out of bounds")
                _ = judge.decide(seen, entry, at: now)
                if let answer = CacheAnswer(seen, entry, age: freshness.age), let stored = answer.stored {
                    require(0 <= stored.lowerBound && stored.upperBound <= entry.bodySize, "bytes that are not there")
                }
            }
        }
    }
}
