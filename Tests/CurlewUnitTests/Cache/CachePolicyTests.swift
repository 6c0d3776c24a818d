import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("The policy of a request for caches")
struct CachePolicyTests {
    @Test("a request that is not to be stored shows noStore to links, until one of them sets another policy or none")
    func notStored() {
        var options = RequestOptions()
        #expect(options.cachePolicy == nil)
        options.isNotStored = true
        #expect(options.cachePolicy == .noStore)
        var other = options
        other.cachePolicy = other.cachePolicy ?? .forceCache
        #expect(other.cachePolicy == .noStore)
        other.cachePolicy = .forceCache
        #expect(other.cachePolicy == .forceCache)
        options.cachePolicy = nil
        #expect(options.cachePolicy == nil)
    }

    @Test("the caller's policy is kept for a request that is not to be stored")
    func chosen() {
        var options = RequestOptions()
        options.cachePolicy = .forceCache
        options.isNotStored = true
        #expect(options.cachePolicy == .forceCache)
    }
}
