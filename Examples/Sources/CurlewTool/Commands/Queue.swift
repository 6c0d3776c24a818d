import ArgumentParser
import Curlew
import CurlewPostgres
import CurlewStorage
import Glibc
import HTTPTypes

/// The queue on which the commands of `curlew queue` operate.
struct QueuePlace: ParsableArguments {
    @Option(
        name: .customLong("queue-folder"),
        help: "The folder of the queue; by default curlew in the user's folder for state.")
    var path: String?

    @Option(help: "The name of the queue in its folder or its database.")
    var name = "default"

    @Option(help: "The PostgreSQL database that has the queue, in place of a folder: postgres://… or libpq's words.")
    var store: String?

    @Option(help: "The name of the folders that all machines have under one path; without it files are this machine's.")
    var shared: String?

    func validate() throws {
        guard path == nil || store == nil else { throw ValidationError("There is --queue-folder or --store.") }
        guard shared == nil || store != nil else { throw ValidationError("--shared is for --store.") }
    }

    static func id(_ text: String) throws -> DurableTransfer.ID {
        guard let id = DurableTransfer.ID(text) else { throw ValidationError("\"\(text)\" is no name of a transfer.") }
        return id
    }

    func open(parallel: Int? = nil) async throws -> (session: DurableSession, http: HTTPSession) {
        var options = DurableSession.Options()
        if let parallel { options.limits.total = parallel }
        if let store {
            var settings = PostgresSettings(store)
            if let shared { settings.reach = .shared(shared) }
            let http = try HTTPSession(chain: .singleUser)
            return (
                try await DurableSession(identifier: name, postgres: settings, http: http, options: options), http
            )
        }
        guard let folder = path ?? Self.standard else {
            throw CurlewError(.queueFailed, "there is neither XDG_STATE_HOME nor HOME; --queue-folder names the folder")
        }
        let http = try HTTPSession(chain: .singleUser)
        let session = try await DurableSession(identifier: name, folder: folder, http: http, options: options)
        if let damaged = session.damagedQueue {
            Terminal.write("curlew: the queue was damaged; it is now \(printable(damaged))\n", to: STDERR_FILENO)
        }
        return (session, http)
    }

    /// Opens the queue, and closes it after the work.
    func with<Value>(_ work: (DurableSession) async throws -> Value) async throws -> Value {
        let (session, http) = try await open()
        let value = try await work(session)
        try await session.close()
        await http.shutdown(deadline: .seconds(1))
        return value
    }

    private static var standard: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return variable("XDG_STATE_HOME").map { "\($0)/curlew" } ?? variable("HOME").map { "\($0)/.local/state/curlew" }
    }
}

/// `curlew queue add|list|show|run|suspend|resume|cancel|clear`: transfers that outlive the process.
struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Transfers that outlive the process.",
        discussion: """
            'add' writes transfers down, 'run' does them. Several 'run's at once share the work; one that is interrupted or
            killed is taken over by the next.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Run.self, Suspend.self, Resume.self, Cancel.self, Clear.self,
        ], defaultSubcommand: List.self)

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add downloads, or an upload.")

        @OptionGroup var place: QueuePlace
        @Argument(help: "What to download, or where to upload to.")
        var urls: [String]
        @Option(
            name: .shortAndLong,
            help: "A file for one URL; else a folder: one that exists, or whose name ends in a slash.")
        var output = "."
        @Option(help: "The file to upload to the one URL.")
        var upload: String?
        @Option(name: .customLong("sha256"), help: "What the file must hash to; for one URL.")
        var hash: String?
        @Option(help: "A word by which the limits count it; may be repeated.")
        var tag: [String] = []
        @Option(help: "From 0, the last, to 4, the first.")
        var priority = 2
        @Option(help: "How often it may fail.")
        var attempts = 20

        func validate() throws {
            guard !urls.isEmpty else { throw ValidationError("There is nothing to add.") }
            guard urls.count == 1 || (hash == nil && upload == nil) else {
                throw ValidationError("For several URLs there is neither --sha256 nor --upload.")
            }
            if let hash, hash.count != 64 || (try? ContentDigest(hex: hash)) == nil {
                throw ValidationError("A SHA-256 has 64 hexadecimal digits.")
            }
        }

        func run() async throws {
            var status = stat()
            let isFolder = output.hasSuffix("/") || (stat(output, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
            guard isFolder || urls.count == 1 else { throw ValidationError("For several URLs --output is a folder.") }
            let requests = try urls.map { url in
                var request: DurableTransfer.Request =
                    if let upload {
                        .upload(file: upload, to: url)
                    } else {
                        .download(url, to: isFolder ? .folder(output) : .file(output))
                    }
                request.integrity.digest = try hash.map { try ContentDigest(hex: $0) }
                request.tags = tag
                request.priority = RequestOptions.Priority(rawValue: priority)
                request.attempts = attempts
                return request
            }
            for id in try await place.with({ try await $0.enqueue(requests) }) {
                Terminal.write("\(id)\n", to: STDOUT_FILENO)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the transfers, a line each.")

        @OptionGroup var place: QueuePlace

        func run() async throws {
            try await place.with { session in
                var last: DurableTransfer.ID?
                while true {
                    let page = try await session.transfers(after: last)
                    for transfer in page { Terminal.write("\(QueueLine(transfer))\n", to: STDOUT_FILENO) }
                    guard let id = page.last?.id else { return }
                    last = id
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one transfer.")

        @OptionGroup var place: QueuePlace
        @Argument(help: "Its name, as 'add' has written it.", transform: QueuePlace.id)
        var id: DurableTransfer.ID

        func run() async throws {
            guard let transfer = try await place.with({ try await $0.transfer(id) }) else {
                throw CurlewError(.invalidRequest, "there is no such transfer")
            }
            var lines = [
                "id        \(transfer.id)", "url       \(printable(transfer.request.url))",
                "state     \(transfer.state)",
                "bytes     \(transfer.transferred)\(transfer.total.map { " of \($0)" } ?? "")",
                "failures  \(transfer.failures)",
            ]
            if let source = transfer.request.source { lines.append("file      \(printable(source))") }
            if case .file(let file) = transfer.outcome { lines.append("file      \(printable(file.path))") }
            if case .response(let response) = transfer.outcome { lines.append("status    \(response.status.code)") }
            if let error = transfer.lastError { lines.append("error     \(printable("\(error)"))") }
            Terminal.write(lines.joined(separator: "\n") + "\n", to: STDOUT_FILENO)
        }
    }

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run the transfers, with whoever else runs them, until none is left.")

        @OptionGroup var place: QueuePlace
        @Flag(help: "Wait for more when none is left.")
        var forever = false
        @Option(help: "How many run at a time, of all workers.")
        var parallel = 4

        func run() async throws {
            let (session, http) = try await place.open(parallel: max(1, parallel))
            let isUntilDrained = !forever
            let work = Task { try await session.run(untilDrained: isUntilDrained) }
            let interruption = await Interruption { work.cancel() }
            let display = Task { try await QueueDisplay(session).run() }
            let result = await work.result
            await interruption.end()
            display.cancel()
            _ = await display.result
            if !(await interruption.hasHappened) { try await QueueDisplay(session).end() }
            let failed = try await session.counts()[.failed] ?? 0
            try await session.close()
            await http.shutdown(deadline: .seconds(1))
            if await interruption.hasHappened { throw ExitCode(130) }
            try result.get()
            if failed > 0 { throw ExitCode(1) }
        }
    }

    /// A command on some transfers, or on all of them.
    struct Selection: ParsableArguments {
        @OptionGroup var place: QueuePlace
        @Flag(help: "All that have not ended.")
        var all = false
        @Argument(help: "The names of transfers.", transform: QueuePlace.id)
        var ids: [DurableTransfer.ID] = []

        func validate() throws {
            guard all == ids.isEmpty else {
                throw ValidationError("There are names of transfers, or --all.")
            }
        }

        func run(_ work: (DurableSession, [DurableTransfer.ID]?) async throws -> Int) async throws {
            let count = try await place.with { try await work($0, all ? nil : ids) }
            Terminal.write("\(count)\n", to: STDOUT_FILENO)
            if count == 0, !all { throw ExitCode(1) }
        }
    }

    struct Suspend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Stop transfers, and keep what has come.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.suspend($1) } }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let transfers run that were suspended.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.resume($1) } }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End transfers, and remove what has come.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.cancel($1) } }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Forget the transfers that have ended; files stay.")

        @OptionGroup var place: QueuePlace

        func run() async throws { try await place.with { try await $0.acknowledgeAll() } }
    }
}

/// A transfer as one line.
struct QueueLine: CustomStringConvertible {
    let description: String

    init(_ transfer: DurableTransfer) {
        let state = "\(transfer.state)"
        let part =
            transfer.total.map { "\(Units.bytes(transfer.transferred)) of \(Units.bytes($0))" }
            ?? Units.bytes(transfer.transferred)
        let padded = state + String(repeating: " ", count: max(0, 19 - state.utf8.count))
        description = "\(transfer.id) \(padded) \(part)  \(printable(transfer.request.url))"
    }
}

/// The output of `queue run`: a table on a terminal, otherwise a line for each end.
struct QueueDisplay {
    private let session: DurableSession

    init(_ session: DurableSession) { self.session = session }

    func run() async throws {
        guard Terminal.width(of: STDERR_FILENO) != nil else {
            for try await event in session.events {
                guard case .ended(let transfer) = event else { continue }
                Terminal.write("\(QueueLine(transfer))\n", to: STDERR_FILENO)
            }
            return
        }
        var shown = 0
        for try await figures in session.figures(every: .milliseconds(500)) {
            let width = Terminal.width(of: STDERR_FILENO) ?? 80
            let running = try await session.transfers(in: [.running], limit: 10)
            var summary = Self.summary(figures.counts)
            if figures.bytesPerSecond > 0 { summary += ", \(Units.bytes(Int64(figures.bytesPerSecond)))/s" }
            let lines = (running.map { "\(QueueLine($0))" } + [summary]).map { String($0.prefix(width - 1)) }
            let up = shown > 0 ? "\u{1B}[\(shown)F" : ""
            Terminal.write(up + "\u{1B}[J" + lines.joined(separator: "\n") + "\n", to: STDERR_FILENO)
            shown = lines.count
        }
    }

    private static func summary(_ counts: [DurableTransfer.State: Int]) -> String {
        let parts = DurableTransfer.State.allCases.compactMap { state in counts[state].map { "\($0) \(state)" } }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    /// Prints the remaining transfers at the end.
    func end() async throws {
        Terminal.write("\(Self.summary(try await session.counts()))\n", to: STDERR_FILENO)
    }
}
