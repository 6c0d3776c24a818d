import CurlewTesting
import FoundationEssentials
import Glibc
import HTTPTypes
import SeededNumbers

/// Twenty kills, with as many downloads as they need, and a check of the folder after each.
final class Campaign {
    let seed: UInt64
    private var random: SeededNumbers
    private let content: RangedContent
    private static let kills = 20
    private static let size = 40 << 20
    /// The time limit of the campaign, with a good margin under three minutes.
    private let deadline = ContinuousClock.now.advanced(by: .seconds(150))

    init(seed: UInt64) {
        self.seed = seed
        random = SeededNumbers(seed: seed)
        var bytes = [UInt8](repeating: 0, count: Self.size)
        var numbers = SeededNumbers(seed: ~seed)
        bytes.withUnsafeMutableBytes { space in
            for index in stride(from: 0, to: space.count, by: 8) {
                space.storeBytes(of: numbers.next(), toByteOffset: index, as: UInt64.self)
            }
        }
        var content = RangedContent(bytes, entityTag: "\"\(seed)\"")
        content.throttle = .init(bytes: 256 << 10, every: .milliseconds(8))
        self.content = content
    }

    func run() async throws {
        print("seed \(seed)")
        let content = content
        let server = try await MockServer.start { content.response(to: $0) }
        var killed = 0
        var downloads = 0
        while killed < Self.kills {
            killed += try await download(
                server.url("/file"), segments: [1, 4][downloads % 2], upTo: Self.kills - killed)
            downloads += 1
        }
        let ranges = await rangeCount(server)
        print("\(killed) kills, \(downloads) downloads, \(server.requestCount) requests, \(ranges) of them for ranges")
        guard ranges > 0 else { throw Finding("no download was ever gone on with") }
        await server.shutdown()
    }

    /// A download, restarted after each kill until it is complete.
    /// - Returns: The number of kills.
    private func download(_ url: String, segments: Int, upTo limit: Int) async throws -> Int {
        let folder = "/tmp/curlew-crash-\(UInt64.random(in: 0...UInt64.max))"
        guard mkdir(folder, 0o700) == 0 else { throw Finding("no folder: errno \(errno)") }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var killed = 0
        while true {
            guard ContinuousClock.now < deadline else { throw Finding("it took too long") }
            let moment = killed < limit ? Duration.milliseconds(1 + Int(random.next() % 700)) : .seconds(60)
            let child = try ChildProcess(["child", url, folder, String(segments)])
            let end = await child.end(within: moment)
            try checkFolder(folder)
            print("  \(segments) segments: \(end) within \(moment), \(held(in: folder)) bytes in the token")
            switch end {
            case .exit(0):
                guard access("\(folder)/file", F_OK) == 0 else { throw Finding("a whole download has no file") }
                guard access("\(folder)/token", F_OK) != 0 else { throw Finding("a whole download left its token") }
                return killed
            case .signal(SIGKILL) where killed < limit: killed += 1
            default: throw Finding("the process ended with \(end)")
            }
        }
    }

    /// Checks that the destination has the complete file or none, whenever the kill came.
    private func checkFolder(_ folder: String) throws {
        guard access("\(folder)/file", F_OK) == 0 else { return }
        guard try Array(Data(contentsOf: URL(filePath: "\(folder)/file"))) == content.bytes else {
            throw Finding("a wrong file is at the destination")
        }
    }

    private struct Held: Decodable {
        struct Piece: Decodable {
            let start: Int
            let end: Int
        }
        let received: [Piece]
    }

    private func held(in folder: String) -> Int {
        guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/token")) else { return 0 }
        let pieces = (try? JSONDecoder().decode(Held.self, from: data))?.received ?? []
        return pieces.reduce(0) { $0 + $1.end - $1.start }
    }

    private func rangeCount(_ server: MockServer) async -> Int {
        var count = 0
        for _ in 0..<server.requestCount where await server.takeRequest()?.fields[.range] != nil { count += 1 }
        return count
    }
}
