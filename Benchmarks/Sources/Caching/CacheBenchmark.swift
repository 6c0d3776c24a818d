internal import BenchmarkKit
internal import Curlew
internal import CurlewStorage
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import HTTPTypes

/// A benchmark of the cost and the savings of a cache, in processor time per operation: hits without a server, misses
/// before a real server. The compared variants take turns, so that both run under the same conditions.
@main
struct CacheBenchmark {
    /// The size of the body of a disk hit: 100 KiB.
    static let diskBody = 100 << 10
    /// The number of concurrent requests to a server.
    static let inFlight = 64

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.popFirst(), let rounds = arguments.popFirst().flatMap({ Int($0) }), rounds > 0 else {
            print("usage: bench-cache URL ROUNDS [PART [REPETITIONS]]")
            exit(2)
        }
        let part = arguments.popFirst()
        let repetitions = arguments.popFirst().flatMap { Int($0) }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("curlew-bench-cache-\(getpid())")
            .path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if part == nil || part == "memory" { try await memoryHits(rounds) }
        if part == nil || part == "disk" { try await diskHits(rounds, folder) }
        if part == nil || part == "misses" { try await misses(rounds, url, repetitions ?? 20_000) }
    }

    /// Measures hits of 1 KiB in memory, through a session with only the cache and through the standard chain.
    private static func memoryHits(_ rounds: Int) async throws {
        for (name, chain) in [("cache alone", StandardChain.Options?.none), ("standard chain", .some(.init()))] {
            let api = try await filled(HTTPCache(), chain: chain, size: 1024)
            let cost = try await median(rounds) { try await perOperation(20_000) { try await hit(api, 1024) } }
            report("memory hit, 1 KiB, \(name)", cost, limit: "15 µs")
        }
    }

    /// Measures hits of 100 KiB on the disk, compared with reading such a file on a queue.
    private static func diskHits(_ rounds: Int, _ folder: String) async throws {
        let store = try await DiskCacheStore(folder: folder)
        let cache = HTTPCache(store: store)
        let api = try await filled(cache, chain: nil, size: diskBody)
        await cache.flush()
        let path = folder + ".file"
        try Data(repeating: 7, count: diskBody).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let queue = DispatchQueue(label: "file")
        var ratios: [Double] = []
        var costs: [(hit: Double, file: Double)] = []
        for _ in 0..<(rounds * 3) {
            let file = try await perOperation(2000) { try await read(path, on: queue) }
            let hits = try await perOperation(2000) { try await hit(api, diskBody) }
            ratios.append(hits / file)
            costs.append((hits, file))
        }
        report("disk hit, 100 KiB", sorted(costs.map(\.hit)), limit: "-")
        report("file of 100 KiB", sorted(costs.map(\.file)), limit: "-")
        report("disk hit / file", sorted(ratios), limit: "1.5", unit: "x")
        try await store.close()
    }

    /// Measures small GETs that are stored each time, compared with a session without a cache.
    private static func misses(_ rounds: Int, _ url: String, _ count: Int) async throws {
        let plain = try HTTPSession(chain: .bare)
        let caching = try HTTPSession(chain: .bare) { HTTPCache() }
        var reload = RequestOptions()
        reload.cachePolicy = .reload
        let request = try CurlewRequest(.get, url)
        var stored = request
        stored.options = reload
        var ratios: [Double] = []
        var costs: [(miss: Double, plain: Double)] = []
        for _ in 0..<(rounds * 3) {
            let without = try await perOperation(count, inFlight) { try await fetch(plain, request) }
            let with = try await perOperation(count, inFlight) { [stored] in try await fetch(caching, stored) }
            ratios.append(with / without)
            costs.append((with, without))
        }
        report("miss, small", sorted(costs.map(\.miss)), limit: "-")
        report("without a cache", sorted(costs.map(\.plain)), limit: "-")
        report("miss / without", sorted(ratios), limit: "1.15", unit: "x")
    }

    // MARK: Operations

    /// Makes a session whose cache contains the response, so that its transport is not used again.
    private static func filled(_ cache: HTTPCache, chain: StandardChain.Options?, size: Int) async throws -> HTTPSession
    {
        var chain = chain
        chain?.cache = cache
        let api = try HTTPSession(transport: OneAnswer(size: size), chain: chain) {
            if chain == nil { cache }
        }
        _ = try await api.get("http://example.com/birds").body.collect(upTo: .mebibytes(1))
        return api
    }

    private static func hit(_ api: HTTPSession, _ size: Int) async throws {
        let response = try await api.get("http://example.com/birds")
        let body = try await response.body.collect(upTo: .mebibytes(1))
        precondition(response.cacheStatus == .hit && body.count == size)
    }

    private static func fetch(_ api: HTTPSession, _ request: CurlewRequest) async throws {
        _ = try await api.send(request).body.collect(upTo: .mebibytes(1))
    }

    private static func read(_ path: String, on queue: DispatchQueue) async throws {
        let bytes: [UInt8] = await withCheckedContinuation { continuation in
            queue.async {
                let file = open(path, O_RDONLY | O_CLOEXEC)
                var status = stat()
                fstat(file, &status)
                let bytes = [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { space, count in
                    count = Glibc.read(file, space.baseAddress, space.count)
                }
                close(file)
                continuation.resume(returning: bytes)
            }
        }
        precondition(bytes.count == diskBody)
    }

    // MARK: Measuring

    /// The processor time per operation, in microseconds.
    private static func perOperation(
        _ count: Int, _ workers: Int = 1, _ operation: @escaping @Sendable () async throws -> Void
    ) async throws -> Double {
        let start = Usage.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask { for _ in 0..<(count / workers) { try await operation() } }
            }
            try await group.waitForAll()
        }
        return (Usage.now().processorSeconds - start.processorSeconds) / Double(count / workers * workers) * 1e6
    }

    private static func median(_ rounds: Int, _ measure: () async throws -> Double) async throws -> [Double] {
        var values: [Double] = []
        for _ in 0..<rounds { values.append(try await measure()) }
        return sorted(values)
    }

    private static func sorted(_ values: [Double]) -> [Double] { values.sorted() }

    private static func report(_ name: String, _ values: [Double], limit: String, unit: String = "µs") {
        func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        let middle = values[values.count / 2]
        print(
            "\(name): \(text(middle)) \(unit) (\(text(values[0])) to \(text(values[values.count - 1]))), limit \(limit)"
        )
    }
}

/// A transport that answers every request with a body that is fresh for a day.
private struct OneAnswer: Transport {
    let size: Int

    func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        CurlewResponse(
            .ok, fields: [.cacheControl: "max-age=86400", .contentType: "text/plain", .eTag: "\"a\""],
            body: .bytes([UInt8](repeating: 7, count: size)), uri: request.uri)
    }
}
