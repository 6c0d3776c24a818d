import ArgumentParser
import Curlew
import CurlewStorage
import Glibc
import TerminalOutput

/// `curlew queue add|list|show|run|suspend|resume|cancel|clear`: transfers that outlive the process.
struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Transfers that outlive the process.",
        discussion: """
            'add' stores transfers, and 'run' performs them. Several runs share the work. The transfers of a run that was
            interrupted or killed are performed by the next.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Run.self, Suspend.self, Resume.self, Cancel.self, Clear.self,
        ], defaultSubcommand: List.self)

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add downloads, or an upload.")

        @OptionGroup var place: QueuePlace
        @Argument(help: "The URLs of the downloads, or of the upload.")
        var urls: [String]
        @Option(
            name: .shortAndLong,
            help: "A file for one URL; else a folder: one that exists, or whose name ends in a slash.")
        var output = "."
        @Option(help: "The file to upload to the one URL.")
        var upload: String?
        @Option(name: .customLong("sha256"), help: "The SHA-256 of the file, in hexadecimal digits; for one URL.")
        var hash: String?
        @Option(help: "A word by which the limits count it; may be repeated.")
        var tag: [String] = []
        @Option(help: "The priority, from 0 for the last to 4 for the first.")
        var priority = 2
        @Option(help: "The largest number of attempts.")
        var attempts = 20
        @Flag(help: "Number files that would have one name.")
        var rename = false
        @Flag(help: "Make the folders that are missing.")
        var parents = false

        func validate() throws {
            guard !urls.isEmpty else { throw ValidationError("There is nothing to add.") }
            guard (0...4).contains(priority) else { throw ValidationError("A priority is 0 to 4.") }
            guard attempts > 0 else { throw ValidationError("A transfer has at least one attempt.") }
            guard urls.count == 1 || (hash == nil && upload == nil) else {
                throw ValidationError("For several URLs there is neither --sha256 nor --upload.")
            }
            if let hash, hash.count != 64 || (try? ContentDigest(hex: hash)) == nil {
                throw ValidationError("A SHA-256 has 64 hexadecimal digits.")
            }
            if upload == nil { try FileNames.check(urls, numbersNames: rename) }
        }

        func run() async throws {
            let urls = urls.map(RequestLine.absolute)
            let requests = try urls.map(request)
            for id in try await place.with({ try await $0.enqueue(requests) }) {
                try OutputFile.standard.write("\(id)\n")
            }
        }

        private func request(for url: String) throws -> DurableTransfer.Request {
            _ = try CurlewURI(url)
            var request: DurableTransfer.Request
            if let upload {
                guard access(upload, R_OK) == 0 else {
                    throw CurlewError(.bodyFailed, "\(printable(upload)) cannot be read: \(SystemText.error(errno))")
                }
                request = .upload(file: upload, to: url)
            } else {
                let destination = try DownloadDestination(
                    output, isForSeveral: urls.count > 1, createsFolders: parents)
                if !rename { try destination.refuseExistingFile() }
                request = .download(url, to: destination.value(existing: rename ? .unique : .fail))
            }
            request.integrity.digest = try hash.map { try ContentDigest(hex: $0) }
            request.tags = tag
            request.priority = RequestOptions.Priority(rawValue: priority)
            request.attempts = attempts
            return request
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the transfers, a line each.")

        @OptionGroup var place: QueuePlace

        func run() async throws {
            let output = OutputFile.standard
            let width = Terminal.width(of: STDOUT_FILENO)
            try await place.with { session in
                let names = try await TransferNames(session).shortened
                var last: DurableTransfer.ID?
                while true {
                    let page = try await session.transfers(after: last)
                    for transfer in page {
                        let line = QueueLine(transfer, name: width == nil ? nil : names[transfer.id])
                        try output.write(line.lines(width: width).map { "\($0)\n" }.joined())
                    }
                    guard let id = page.last?.id else { return }
                    last = id
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one transfer.")

        @OptionGroup var place: QueuePlace
        @Argument(help: "Its name, or the first digits of it.")
        var id: String

        func run() async throws {
            let transfer = try await place.with { session in
                let names = try await TransferNames(session).resolved([id])
                return try await session.transfer(names[0])
            }
            guard let transfer else { throw CurlewError(.invalidRequest, "there is no transfer \(id)") }
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
            try OutputFile.standard.write(lines.joined(separator: "\n") + "\n")
        }
    }

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run the transfers until none is left. Other runs share the work.")

        @OptionGroup var place: QueuePlace
        @Flag(help: "Wait for more when none is left.")
        var forever = false
        @Option(help: "The number of simultaneous transfers of all runs.")
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
            let failed = try await QueueDisplay(session).end(wasInterrupted: await interruption.hasHappened)
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
        @Argument(help: "The names of transfers, or the first digits of them.")
        var ids: [String] = []

        func validate() throws {
            guard all == ids.isEmpty else {
                throw ValidationError("There are names of transfers, or --all.")
            }
        }

        func run(_ work: (DurableSession, [DurableTransfer.ID]?) async throws -> Int) async throws {
            let count = try await place.with { session in
                try await work(session, all ? nil : TransferNames(session).resolved(ids))
            }
            try OutputFile.standard.write("\(count)\n")
            if count == 0, !all { throw ExitCode(1) }
        }
    }

    struct Suspend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Stop transfers, and keep the received bytes.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.suspend($1) } }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let transfers run that were suspended.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.resume($1) } }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End transfers, and remove the received bytes.")
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.run { try await $0.cancel($1) } }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Forget the transfers that have ended; files stay.")

        @OptionGroup var place: QueuePlace

        func run() async throws { try await place.with { try await $0.acknowledgeAll() } }
    }
}
