#if Images
import Curlew
import CurlewTestingTraits
import Glibc
import Testing

@testable import CurlewImages

@Suite("Decoded pictures are kept in memory", .timeLimit(.minutes(1)))
struct CacheTests {
    /// A picture of so many bytes, a multiple of four.
    private func picture(_ bytes: Int) throws -> Image {
        try Image(size: Image.Size(bytes / 4, 1), pixels: [UInt8](repeating: 1, count: bytes))
    }

    @Test("a cache has the bounds of AFNetworking's")
    func defaults() {
        let cache = AutoPurgingImageCache()
        #expect(cache.capacity == .mebibytes(100) && cache.preferredUsage == .mebibytes(60))
    }

    @Test("beyond the capacity those are purged that nobody has asked for the longest, down to the preferred usage")
    func purge() async throws {
        let cache = AutoPurgingImageCache(capacity: 1000, preferredUsage: 600)
        for name in ["a", "b", "c", "d", "e"] { await cache.add(try picture(200), for: name) }
        #expect(await cache.usage == 1000)
        #expect(await cache.image(for: "a") != nil)
        await cache.add(try picture(200), for: "f")
        // 1,200 bytes are there; b, c and d go.
        #expect(await cache.usage == 600)
        #expect(await cache.count == 3)
        for (name, isThere) in [("a", true), ("b", false), ("c", false), ("d", false), ("e", true), ("f", true)] {
            let found = await cache.image(for: name)
            #expect((found != nil) == isThere, "\(name)")
        }
    }

    @Test(
        "a picture that is replaced counts once, filters have pictures of their own, and what is too large is not kept")
    func replacing() async throws {
        let cache = AutoPurgingImageCache(capacity: 1000, preferredUsage: 600)
        await cache.add(try picture(400), for: "a")
        await cache.add(try picture(200), for: "a")
        await cache.add(try picture(100), for: "a", filter: "small")
        #expect(await cache.usage == 300)
        #expect(await cache.image(for: "a")?.byteCount == 200)
        #expect(await cache.image(for: "a", filter: "small")?.byteCount == 100)
        #expect(await cache.image(for: "asmall") == nil)
        await cache.add(try picture(300), for: "a", filter: "large")
        #expect(await cache.remove("a", filter: "large"))
        #expect(await cache.count == 2)
        // What was made of the old picture goes with it.
        await cache.add(try picture(1004), for: "a")
        #expect(await cache.image(for: "a") == nil)
        #expect(await cache.usage == 0)
        await cache.add(try picture(100), for: "a", filter: "small")
        #expect(await cache.usage == 100)
        #expect(await cache.remove("a"))
        #expect(await !cache.remove("a", filter: "small"))
        #expect(await !cache.removeAll())
        await cache.add(try picture(4), for: "b")
        #expect(await cache.removeAll())
        #expect(await cache.usage == 0)
        #expect(await cache.count == 0)
    }

    @Test("ten thousand pictures pass through a small cache, which keeps its bound and its count under 64 tasks")
    func crowd() async throws {
        let cache = AutoPurgingImageCache(capacity: .mebibytes(1), preferredUsage: .kibibytes(600))
        let image = try picture(4096)
        await withTaskGroup { group in
            for worker in 0..<64 {
                group.addTask {
                    for index in 0..<157 {
                        await cache.add(image, for: "\(worker * 157 + index)")
                        if index % 5 == 0 { await cache.remove("\(worker * 157 + index)") }
                        #expect(await cache.usage <= .mebibytes(1))
                    }
                }
            }
        }
        let count = await cache.count
        #expect(await cache.usage.bytes == count * 4096)
        #expect(await cache.removeAll())
        #expect(await cache.usage == 0)
    }

    @Test("a stall of any length can be named", arguments: [Duration.seconds(Int64.max), .zero, .seconds(Int64.min)])
    func stalls(_ stall: Duration) {
        // Nothing is there to be watched: it is what is written to it that counts.
        #expect(MemoryPressure(path: "/nowhere", stall: stall).watch {} == nil)
    }

    @Test("a sign of short memory is noticed, and a file that gives none is let be")
    func pressure() async throws {
        // Urgent input, as the kernel's sign is, by a connection that has some.
        let (near, far) = try urgentPair()
        let (signs, sign) = AsyncStream.makeStream(of: Void.self)
        var watch = MemoryPressure.watch(near) { sign.yield() }
        #expect(watch != nil)
        #expect(send(far, "!", 1, Int32(MSG_OOB)) == 1)
        for await _ in signs { break }
        watch = nil
        close(far)
        #expect(MemoryPressure(path: "/dev/null/none", stall: .seconds(1)).watch {} == nil)
        let cache = AutoPurgingImageCache(pressure: .group("/nowhere"))
        await cache.add(try picture(4), for: "a")
        #expect(await cache.count == 1)
    }

    /// Two ends of a connection over loopback.
    private func urgentPair() throws -> (Int32, Int32) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0 && connect(far, address, length) == 0
            }
        }
        try #require(isConnected)
        let near = accept(listener, nil, nil)
        try #require(near >= 0)
        return (near, far)
    }
}
#endif
