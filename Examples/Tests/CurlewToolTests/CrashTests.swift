import CurlewTesting
import Foundation
import Glibc
import Testing

/// The tool killed at random moments of its downloads. It takes a while: `make test-crash` asks for it. `CURLEW_CRASH_SEED` runs
/// a campaign again.
@Suite(
    "Killed downloads", .serialized, .timeLimit(.minutes(3)),
    .enabled(if: ProcessInfo.processInfo.environment["CURLEW_TEST_CRASH"] == "1", "`make test-crash` runs them"))
struct CrashTests {
    private static let kills = 20
    private static let size = 48 << 20

    @Test(
        "downloads that are killed twenty times are finished by later runs, and no wrong file is ever there",
        arguments: [1, 3])
    func campaign(segments: Int) async throws {
        let seed =
            ProcessInfo.processInfo.environment["CURLEW_CRASH_SEED"].flatMap(UInt64.init) ?? .random(in: 0...999_999)
        print("CURLEW_CRASH_SEED=\(seed), segments: \(segments)")
        var numbers = SeededNumbers(seed: seed)
        let site = try await MeteredSite(size: Self.size)
        let folder = try TemporaryFolder()
        let words = ["download", "--resume", site.url, "-o", folder.path("file"), "--segments", "\(segments)"]
        var killed = 0
        var finished = 0
        while killed < Self.kills || finished == 0 {
            // Beyond the size, a run comes to its end.
            let moment = killed < Self.kills ? numbers.next(upTo: Self.size + 8 << 20) : Int.max
            let yields = numbers.next(upTo: 100)
            let tool = try ToolProcess(words)
            let end = await withTaskGroup(of: ToolProcess.End?.self) { group in
                group.addTask {
                    await site.meter.reaches(moment)
                    for _ in 0..<yields { await Task.yield() }
                    if !Task.isCancelled { tool.send(SIGKILL) }
                    return nil
                }
                group.addTask { await tool.end() }
                var found: ToolProcess.End?
                while found == nil, let next = await group.next() { found = next }
                group.cancelAll()
                return found
            }
            await site.meter.restart()
            let isThere = folder.names.contains("file")
            if isThere { try #expect(site.isWhole(folder.path("file")), "a wrong file, seed \(seed)") }
            if end?.status == -SIGKILL {
                killed += 1
            } else {
                #expect(end?.status == 0 && isThere, "seed \(seed): \(end?.complaints ?? "")")
            }
            guard isThere else { continue }
            finished += 1
            #expect(folder.names.allSatisfy { $0 == "file" || end?.status == -SIGKILL }, "left behind: \(folder.names)")
            try FileManager.default.removeItem(atPath: folder.path("file"))
        }
        print(
            "killed \(killed) times, finished \(finished) downloads, \(await site.meter.continuations) requests went on"
        )
        #expect(await site.meter.continuations > 0)
        await site.server.shutdown()
    }
}

/// A server with one file, which counts what it has sent of it.
private struct MeteredSite {
    let server: MockServer
    let meter = Meter()
    private let content: RangedContent

    init(size: Int) async throws {
        let content = RangedContent(BytePattern.bytes(count: size), entityTag: "\"crash\"")
        self.content = content
        server = try await MockServer.start { [meter] request in
            var response = content.response(to: request)
            let first = request.fields[.range].flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
            let range = first..<(response.fields[.contentRange].flatMap(Self.end) ?? size)
            await meter.begin(at: first)
            guard response.status.kind == .successful else { return response }
            response.body = .stream(length: range.count) { writer in
                for start in stride(from: range.lowerBound, to: range.upperBound, by: 64 << 10) {
                    let end = min(start + 64 << 10, range.upperBound)
                    try await writer.write(Array(content.bytes[start..<end]))
                    await meter.add(end - start)
                }
            }
            return response
        }
    }

    var url: String { server.url("/file") }

    func isWhole(_ path: String) throws -> Bool {
        try Data(contentsOf: URL(fileURLWithPath: path)) == Data(content.bytes)
    }

    /// One beyond the last byte of `bytes 5-9/20`.
    private static func end(of field: String) -> Int? {
        field.split(separator: "/").first?.split(separator: "-").last.flatMap { Int($0) }.map { $0 + 1 }
    }
}

/// How much was sent in a run, and who waits for so much.
private actor Meter {
    private(set) var continuations = 0
    private var sent = 0
    private var wanted: (count: Int, waiter: CheckedContinuation<Void, Never>)?

    func begin(at first: Int) {
        if first > 0 { continuations += 1 }
        add(0)
    }

    func add(_ count: Int) {
        sent += count
        guard let wanted, sent >= wanted.count else { return }
        leave()
    }

    /// Waits until so much was sent in this run, or the waiting task is cancelled.
    func reaches(_ count: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if Task.isCancelled || (sent >= count && sent > 0) { waiter.resume() } else { wanted = (count, waiter) }
            }
        } onCancel: {
            Task { await self.leave() }
        }
    }

    func restart() {
        sent = 0
        leave()
    }

    private func leave() {
        wanted?.waiter.resume()
        wanted = nil
    }
}

/// Numbers that are the same for the same seed (SplitMix64).
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func next(upTo bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
