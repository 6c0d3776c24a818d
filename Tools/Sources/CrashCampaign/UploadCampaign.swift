import Curlew
import CurlewTesting
import FoundationEssentials
import Glibc
import SeededNumbers

/// At least twenty kills of a process that uploads a file by a resumable protocol. Each next process resumes with the
/// stored token. Every complete upload equals the file, and the last run completes one.
final class UploadCampaign {
    private static let kills = 24
    private static let size = 12 << 20
    private let folder = "/tmp/curlew-crash-upload-\(UInt64.random(in: 0...UInt64.max))"
    private var random: SeededNumbers
    private let deadline = ContinuousClock.now.advanced(by: .seconds(60))

    init(seed: UInt64) { random = SeededNumbers(seed: seed ^ 0x0B0B) }

    /// The work of the process that is killed.
    static func work(_ url: String, _ folder: String, _ dialect: String) async throws {
        let http = try HTTPSession(chain: .bare)
        var upload = ResumableUpload.Options()
        upload.retries.backoff = Retry.Backoff(base: .milliseconds(10), maximum: .milliseconds(100))
        upload.tokenFile = "\(folder)/token"
        upload.parallelParts = dialect == "parts" ? 3 : 1
        upload.digestsContent = dialect == "parts"
        if access("\(folder)/token", F_OK) == 0 { upload.token = try await UploadToken(contentsOf: "\(folder)/token") }
        var options = RequestOptions()
        options.rateLimit = RateLimit(sending: .mebibytes(24))
        let response = try await http.upload(
            file: "\(folder)/source", to: .raw(url), resumable: dialect == "ietf" ? .ietf : .tus, upload: upload,
            options: options)
        await response.discard()
        await http.shutdown()
    }

    func run() async throws {
        guard mkdir(folder, 0o700) == 0 else { throw Finding("no folder: errno \(errno)") }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bytes = BytePattern.bytes(count: Self.size)
        try Data(bytes).write(to: URL(filePath: "\(folder)/source"))
        var killed = 0
        var rounds = 0
        while killed < Self.kills {
            let dialect = ["ietf", "tus", "parts"][rounds % 3]
            var faults = UploadServer.Faults()
            faults.extensions = "creation,termination,concatenation"
            let server = try await UploadServer.start(dialect == "ietf" ? .draft(6) : .tus, faults)
            var ownKills = 0
            while true {
                guard ContinuousClock.now < deadline else { throw Finding("the uploads took too long") }
                let child = try ChildProcess(["upload", server.url, folder, dialect])
                // An upload may run to its end after ten kills.
                let life = ownKills < 10 ? 20 + Int(random.next() % 300) : 20_000
                let end = await child.end(within: .milliseconds(life))
                guard server.files.allSatisfy({ $0 == bytes }) else {
                    throw Finding("what is complete is not the file")
                }
                if case .exit(0) = end { break }
                guard end == .signal(SIGKILL) else { throw Finding("an upload ended with \(end)") }
                killed += 1
                ownKills += 1
            }
            guard !server.files.isEmpty else { throw Finding("an upload ended, and no file is complete") }
            guard access("\(folder)/token", F_OK) != 0 else { throw Finding("a token is left") }
            await server.shutdown()
            rounds += 1
        }
        print("\(killed) kills of an upload, \(rounds) files came whole")
    }
}
