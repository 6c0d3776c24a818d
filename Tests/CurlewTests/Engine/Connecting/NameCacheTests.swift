import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("The name cache")
    struct NameCacheTests {
        private let addresses = [HostAddress(IPAddress(ipv4: 1))]
        private let moment = Instant(nanoseconds: 1000)

        @Test("an address is used until its lifetime ends")
        func lifetime() {
            let cache = NameCache()
            cache.insert(addresses, of: "a.test", family: .any, at: moment)
            func found(_ lifetime: Int64, after age: Int64) -> Bool {
                cache.addresses(of: "a.test", family: .any, lifetime: lifetime, now: moment.advanced(by: age)) != nil
            }
            #expect(found(10, after: 9))
            #expect(!found(10, after: 10))
            #expect(!found(0, after: 0))
            #expect(found(.max, after: .max - 2000))
        }

        @Test("names are compared without the case of ASCII letters, and families are kept apart")
        func keys() {
            let cache = NameCache()
            cache.insert(addresses, of: "A.Test", family: .ipv4, at: moment)
            func found(_ name: String, _ family: ConnectionRoute.AddressFamily) -> Bool {
                cache.addresses(of: name, family: family, lifetime: .max, now: moment) != nil
            }
            #expect(found("a.tesT", .ipv4))
            #expect(!found("a.test", .any))
            cache.insert(addresses, of: "\u{E9}.test", family: .any, at: moment)
            #expect(found("\u{E9}.test", .any))
            #expect(!found("e\u{301}.test", .any))
        }

        @Test("a full cache evicts its oldest name, and a new look-up makes a name the newest")
        func bound() {
            let cache = NameCache(limit: 3)
            for (age, name) in ["a", "b", "c", "a", "d"].enumerated() {
                cache.insert(addresses, of: name, family: .any, at: moment.advanced(by: Int64(age)))
            }
            let kept = ["a", "b", "c", "d"].filter {
                cache.addresses(of: $0, family: .any, lifetime: .max, now: moment) != nil
            }
            #expect(kept == ["a", "c", "d"])
            #expect(cache.count == 3)
            cache.removeAll()
            #expect(cache.count == 0)
        }
    }
}
