import ArgumentParser
import Curlew
import Glibc
import TerminalOutput

/// `curlew download URL…`: resumable downloads of files, with a progress bar for each.
struct Download: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Download files.",
        discussion: """
            The bytes lie in a part file beside the destination until the file is complete. A download that is interrupted,
            fails or is killed leaves the part file and a token file, from which `--resume` continues.
            """)

    @Argument(help: "The URLs of the files.")
    var urls: [String]

    @Option(
        name: .shortAndLong, help: "A file for one URL; else a folder: one that exists, or whose name ends in a slash.")
    var output = "."

    @Flag(help: "Resume the downloads that an earlier run left incomplete.")
    var resume = false

    @Option(help: "The number of connections for parts of a file, 1 to 16.")
    var segments = 1

    @Option(help: "Bytes a second for all files together, such as 500k or 2M.", transform: Self.amount)
    var limit: Int64?

    @Option(name: .customLong("sha256"), help: "The SHA-256 of the file, in hexadecimal digits; for one URL.")
    var hash: String?

    @Option(help: "The largest number of automatic resumes of a file.")
    var resumes = 5

    @Option(help: "The number of simultaneous downloads.")
    var parallel = 4

    @Option(help: "The rule for an existing file: fail, replace, unique.")
    var existing = Existing.fail

    @Flag(help: "Number files that would have one name; the same as --existing unique.")
    var rename = false

    @Flag(help: "Make the folders that are missing.")
    var parents = false

    enum Existing: String, ExpressibleByArgument {
        case fail, replace, unique

        var policy: Destination.ExistingFile {
            switch self {
            case .fail: .fail
            case .replace: .replace
            case .unique: .unique
            }
        }
    }

    static func amount(_ text: String) throws -> Int64 {
        guard let count = Units.count(of: text) else { throw ValidationError("\"\(text)\" is no amount of bytes") }
        return count
    }

    func validate() throws {
        guard !urls.isEmpty else { throw ValidationError("There is nothing to download.") }
        guard (1...16).contains(segments) else { throw ValidationError("There are 1 to 16 segments.") }
        guard resumes >= 0, parallel > 0 else { throw ValidationError("There are no negative numbers of files.") }
        guard urls.count == 1 || (hash == nil && isFolder) else {
            throw ValidationError("For several URLs there is no --sha256, and --output is a folder.")
        }
        guard output != "-" else {
            throw ValidationError("A download needs a file; 'curlew URL' writes to standard output.")
        }
        try FileNames.check(isFolder ? urls : [], numbersNames: rename || existing == .unique)
        if let hash, hash.count != 64 || (try? ContentDigest(hex: hash)) == nil {
            throw ValidationError("A SHA-256 has 64 hexadecimal digits.")
        }
    }

    /// The label of a URL's bar.
    private func label(of url: String) -> String {
        isFolder ? FileNames.name(ofURL: url) ?? url : FileNames.name(ofPath: output)
    }

    func run() async throws {
        _ = try destination
        let urls = urls.map(RequestLine.absolute)
        var configuration = SessionConfiguration()
        if let limit { configuration.rateLimit = RateLimit(receiving: ByteSize(Int(limit))) }
        let session = try HTTPSession(configuration: configuration, chain: .singleUser)
        let board = TransferBoard(names: urls.map(label))
        let jobs = try urls.enumerated().map { try DownloadJob($0.offset, of: $0.element, for: self, session, board) }
        let interruption = await Interruption { for job in jobs { await job.stop() } }
        let outcomes = await withTaskGroup(of: (Int, DownloadJob.Outcome).self) { group in
            var waiting = jobs[...]
            var outcomes: [Int: DownloadJob.Outcome] = [:]
            for job in waiting.prefix(parallel) { group.addTask { (job.number, await job.run()) } }
            waiting = waiting.dropFirst(parallel)
            for await (number, outcome) in group {
                outcomes[number] = outcome
                if let job = waiting.popFirst() { group.addTask { (job.number, await job.run()) } }
            }
            return jobs.compactMap { outcomes[$0.number] }
        }
        await interruption.end()
        await session.shutdown(deadline: .seconds(1))
        try conclude(outcomes, wasInterrupted: await interruption.hasHappened)
    }

    private func conclude(_ outcomes: [DownloadJob.Outcome], wasInterrupted: Bool) throws {
        let output = OutputFile.standard
        let paths = outcomes.compactMap(\.path).map { "\(output.isTerminal ? printable($0) : $0)\n" }
        let writing = Result { try output.write(paths.joined()) }
        let errors = outcomes.compactMap(\.error)
        // The messages come after the bars, which would cut them.
        for error in errors where !wasInterrupted || error.code != .cancelled { Messages.report(error) }
        let kept = zip(urls, outcomes).compactMap { url, outcome in
            outcome.error?.resumeToken.map { (token: $0, path: tokenPath(of: RequestLine.absolute(url))) }
        }
        for (token, path) in kept {
            Messages.note("kept \(Units.bytes(token.receivedCount)) in \(token.partPath), described by \(path)")
        }
        if !kept.isEmpty { Terminal.write("to resume: \(continuation)\n", to: STDERR_FILENO) }
        if wasInterrupted { throw ExitCode(130) }
        if let error = errors.first { throw ExitCode(ExitStatus.status(for: error)) }
        try writing.get()
    }

    /// The command that resumes this one.
    private var continuation: String {
        let words = CommandLine.arguments.dropFirst().filter { $0 != "--resume" }
        let rest = words.first == "download" ? words.dropFirst() : words[...]
        return (["curlew", "download", "--resume"] + rest).map(ShellWord.quoted).joined(separator: " ")
    }

    // MARK: Destinations

    private var isFolder: Bool { DownloadDestination.isFolder(output) }

    var destination: Destination {
        get throws(CurlewError) {
            try DownloadDestination(output, isForSeveral: urls.count > 1, createsFolders: parents)
                .value(existing: rename ? .unique : existing.policy)
        }
    }

    /// The path of a download's resume token: beside the file, derived from its name or URL. In a folder the name of
    /// the token begins with a dot, unlike every name that a server suggests.
    func tokenPath(of url: String) -> String {
        guard isFolder else { return "\(output).resume" }
        let hash = url.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return "\(output.hasSuffix("/") ? output : "\(output)/").curlew-\(String(hash, radix: 16)).resume"
    }

    func options(for url: String) throws -> DownloadTask.Options {
        var options = DownloadTask.Options()
        options.segments = segments
        options.retries.attempts = resumes + 1
        options.tokenFile = tokenPath(of: url)
        options.integrity.digest = try hash.map { try ContentDigest(hex: $0) }
        return options
    }
}
