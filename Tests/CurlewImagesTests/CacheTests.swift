#if Images
import Curlew
import CurlewTestingTraits
import Dispatch
import Foundation
import Glibc
import Testing

@testable import CurlewImages

@Suite("The memory cache of decoded images", .timeLimit(.minutes(1)))
struct CacheTests {
    /// An image with this cost, a multiple of four, under names of four letters in total.
    private func image(_ cost: Int) throws -> Image {
        try Image(size: Image.Size((cost - 260) / 4, 1), pixels: [UInt8](repeating: 1, count: cost - 260))
    }

    @Test("a cache has the limits of AFNetworking's cache")
    func defaults() {
        let cache = AutoPurgingImageCache()
        #expect(cache.capacity == .mebibytes(100) && cache.preferredUsage == .mebibytes(60))
    }

    @Test("a full cache purges the least recently used images down to the preferred usage")
    func purge() async throws {
        let cache = AutoPurgingImageCache(capacity: 5000, preferredUsage: 3000)
        for name in ["aaaa", "bbbb", "cccc", "dddd", "eeee"] { await cache.add(try image(1000), for: name) }
        #expect(await cache.usage == 5000)
        #expect(await cache.image(for: "aaaa") != nil)
        await cache.add(try image(1000), for: "ffff")
        // The usage is 6,000 bytes, so b, c and d are purged.
        #expect(await cache.usage == 3000)
        #expect(await cache.count == 3)
        for (name, isThere) in [
            ("aaaa", true), ("bbbb", false), ("cccc", false), ("dddd", false), ("eeee", true), ("ffff", true),
        ] {
            let found = await cache.image(for: name)
            #expect((found != nil) == isThere, "\(name)")
        }
    }

    @Test(
        "a replaced image counts once, filtered images count separately, and an oversized image is not stored")
    func replacing() async throws {
        let cache = AutoPurgingImageCache(capacity: 5000, preferredUsage: 3000)
        await cache.add(try image(2000), for: "aa")
        await cache.add(try image(1000), for: "aa")
        await cache.add(try image(500), for: "aa", filter: "mm")
        #expect(await cache.usage == 1498)
        #expect(await cache.image(for: "aa")?.byteCount == 740)
        #expect(await cache.image(for: "aa", filter: "mm")?.byteCount == 240)
        #expect(await cache.image(for: "aamm") == nil)
        await cache.add(try image(1500), for: "aa", filter: "ll")
        #expect(await cache.remove("aa", filter: "ll"))
        #expect(await cache.count == 2)
        // A filtered version of the old image is removed with it.
        await cache.add(try image(5004), for: "aaaa")
        #expect(await cache.image(for: "aaaa") == nil)
        await cache.add(try image(5004), for: "aa")
        #expect(await cache.image(for: "aa") == nil)
        #expect(await cache.usage == 0)
        await cache.add(try image(500), for: "aa", filter: "mm")
        #expect(await cache.usage == 500)
        #expect(await cache.remove("aa"))
        #expect(await !cache.remove("aa", filter: "mm"))
        #expect(await !cache.removeAll())
        await cache.add(try image(264), for: "bbbb")
        #expect(await cache.removeAll())
        #expect(await cache.usage == 0)
        #expect(await cache.count == 0)
    }

    @Test("a filtered image is not stored if its original was replaced or removed meanwhile")
    func late() async throws {
        let cache = AutoPurgingImageCache(capacity: 5000, preferredUsage: 3000)
        let (plain, made) = (try image(1000), try image(500))
        for change in ["none", "evicted", "other", "failed", "replaced", "removed", "emptied"] {
            await cache.removeAll()
            await cache.add(plain, for: "aa")
            let work = await cache.beginFilter(on: "aa")
            switch change {
            case "evicted": for name in ["bb", "cc", "dd"] { await cache.add(try image(2000), for: name) }
            case "other": await cache.remove("bb")
            case "replaced": await cache.add(plain, for: "aa")
            case "removed": await cache.remove("aa")
            case "emptied": await cache.removeAll()
            default: break
            }
            await cache.endFilter(work, with: change == "failed" ? nil : made, filter: "mm")
            let isKept = await cache.image(for: "aa", filter: "mm") != nil
            #expect(isKept == ["none", "evicted", "other"].contains(change), "\(change)")
            #expect(await cache.filtersAtWork.isEmpty)
        }
    }

    @Test("small images and long names count towards the usage")
    func small() async throws {
        let cache = AutoPurgingImageCache(capacity: .mebibytes(1), preferredUsage: .kibibytes(600))
        let image = try Image(size: Image.Size(1, 1), pixels: [1, 1, 1, 255])
        for index in 0..<10_000 { await cache.add(image, for: "\(index)", filter: "f") }
        #expect(await cache.count < 4100)
        #expect(await cache.usage <= .mebibytes(1))
        await cache.add(image, for: String(repeating: "a", count: 1 << 20))
        #expect(await cache.image(for: String(repeating: "a", count: 1 << 20)) == nil)
        #expect(await cache.removeAll())
        #expect(await cache.usage == 0)
    }

    /// A thread for the jobs of a task.
    private final class OwnThread: TaskExecutor {
        private let queue = DispatchQueue(label: "one of many")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test("ten thousand images pass through a small cache, which keeps its limit and its count under 64 threads")
    func crowd() async throws {
        let cache = AutoPurgingImageCache(capacity: .mebibytes(1), preferredUsage: .kibibytes(600))
        let image = try image(4096)
        // Names of five letters cost one byte more.
        await withTaskGroup { group in
            for worker in 0..<64 {
                group.addTask(executorPreference: OwnThread()) {
                    for index in 0..<157 {
                        await cache.add(image, for: "\(10_000 + worker * 157 + index)")
                        if index % 5 == 0 { await cache.remove("\(10_000 + worker * 157 + index)") }
                        #expect(await cache.usage <= .mebibytes(1))
                    }
                }
            }
        }
        let count = await cache.count
        #expect(await cache.usage.bytes == count * 4097)
        #expect(await cache.removeAll())
        #expect(await cache.usage == 0)
    }

    @Test(
        "a stall of any length can be configured", arguments: [Duration.seconds(Int64.max), .zero, .seconds(Int64.min)])
    func stalls(_ stall: Duration) {
        // The path does not exist; only the written trigger matters.
        #expect(MemoryPressure(path: "/nowhere", stall: stall).watch {} == nil)
    }

    @Test("a signal of memory pressure is noticed, and a file without such signals is ignored")
    func pressure() async throws {
        // The kernel signals pressure as urgent input, which a connection can provide too.
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
        await cache.add(try image(264), for: "a")
        #expect(await cache.count == 1)
    }

    /// The kernel's signal for processor pressure: memory pressure cannot be caused without a shortage.
    private static let sign = MemoryPressure(path: "/proc/pressure/cpu", stall: .microseconds(500))

    @Test(
        "repeated pressure signals of the kernel are noticed, and each empties the cache",
        .enabled(if: Self.sign.watch {} != nil))
    func kernel() async throws {
        let (signs, sign) = AsyncStream.makeStream(of: Void.self)
        let watch = Self.sign.watch { sign.yield() }
        let cache = AutoPurgingImageCache(pressure: Self.sign)
        await cache.add(try image(264), for: "a")
        let isOver = Guarded(false)
        // More threads than processors run, so that some wait for a processor.
        for _ in 0...(2 * ProcessInfo.processInfo.activeProcessorCount) {
            Thread.detachNewThread {
                var number = 1
                while !isOver.withLock({ $0 }) { for step in 1..<10_000 { number = number &* 7 &+ step } }
                withExtendedLifetime(number) {}
            }
        }
        var count = 0
        for await _ in signs {
            count += 1
            if count == 2 { break }
        }
        try await eventually("the cache is emptied") { await cache.count == 0 }
        isOver.withLock { $0 = true }
        #expect(watch != nil)
    }

    /// Two ends of a loopback connection.
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
