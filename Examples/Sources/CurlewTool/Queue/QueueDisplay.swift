import Curlew
import CurlewStorage
import Glibc
import HTTPTypes

/// The names of transfers as people write them: the first digits, as many as tell them apart.
struct TransferNames {
    private static let shortest = 8

    private let ids: [DurableTransfer.ID]

    init(_ session: DurableSession) async throws {
        var ids: [DurableTransfer.ID] = []
        while true {
            let page = try await session.transfers(after: ids.last)
            if page.isEmpty { break }
            ids += page.map(\.id)
        }
        self.ids = ids
    }

    /// The shortest names, at least eight digits long.
    var shortened: [DurableTransfer.ID: String] {
        var length = Self.shortest
        while length < 32, Set(ids.map { $0.description.prefix(length) }).count < ids.count { length += 4 }
        return Dictionary(uniqueKeysWithValues: ids.map { ($0, String($0.description.prefix(length))) })
    }

    /// The transfers of names.
    /// - Throws: ``CurlewError`` for a name that is none, or that several transfers have.
    func resolved(_ names: [String]) throws -> [DurableTransfer.ID] {
        try names.map { name in
            if let id = DurableTransfer.ID(name) { return id }
            let matches = ids.filter { $0.description.hasPrefix(name.lowercased()) }
            guard let id = matches.first, !name.isEmpty else {
                throw CurlewError(.invalidRequest, "there is no transfer \(printable(name))")
            }
            guard matches.count == 1 else {
                throw CurlewError(.invalidRequest, "\(matches.count) transfers begin with \(printable(name))")
            }
            return id
        }
    }
}

/// The destination of a download that is added to a queue, checked when it is added.
struct QueueDestination {
    let value: Destination

    /// - Parameters:
    ///   - path: A file; or a folder, which exists or whose path ends in a slash.
    ///   - isForSeveral: True for several files, which need a folder.
    init(_ path: String, isForSeveral: Bool, _ createsFolders: Bool, _ numbersNames: Bool) throws {
        var status = stat()
        let exists = stat(path, &status) == 0
        let isFolder = path.hasSuffix("/") || (exists && status.st_mode & S_IFMT == S_IFDIR)
        guard isFolder || !isForSeveral else {
            throw CurlewError(.invalidDestination, "several files need a folder; \(printable(path)) is none")
        }
        let folder = isFolder ? path : Self.folder(of: path)
        if !createsFolders {
            guard access(folder, F_OK) == 0 else {
                throw CurlewError(.invalidDestination, "there is no folder \(printable(folder)); --parents makes it")
            }
            guard access(folder, W_OK) == 0 else {
                throw CurlewError(.invalidDestination, "the folder \(printable(folder)) cannot be written")
            }
        }
        guard isFolder || !exists || numbersNames else {
            throw CurlewError(.fileExists, "\(printable(path)) is there already; --rename numbers files")
        }
        var destination: Destination = isFolder ? .folder(path) : .file(path)
        destination.createsFolders = createsFolders
        if numbersNames { destination.existing = .unique }
        value = destination
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// A transfer as one line, with the reason of its last failure.
struct QueueLine {
    private let name: String
    private let state: String
    private let amount: String
    private let url: String
    private let reason: String?

    /// - Parameter name: The name; nil is the complete identifier.
    init(_ transfer: DurableTransfer, name: String? = nil) {
        self.name = name ?? transfer.id.description
        state = "\(transfer.state)"
        amount =
            transfer.total.map { "\(Units.bytes(transfer.transferred)) of \(Units.bytes($0))" }
            ?? Units.bytes(transfer.transferred)
        url = printable(transfer.request.url)
        reason = transfer.state == .finished ? nil : transfer.lastError.map { printable("\($0.code): \($0.message)") }
    }

    /// The line without a terminal.
    var text: String { "\(name) \(pad(state, 19)) \(amount)  \(url)\(reason.map { "  \($0)" } ?? "")" }

    /// The lines for a terminal: one for the transfer, and indented ones for the reason. Without a width, it is one.
    func lines(width: Int?) -> [String] {
        guard let width else { return [text] }
        let first = "\(name) \(state)  \(amount)  \(url)"
        return [Columns.width(of: first) < width ? first : Columns.prefix(of: first, max(1, width - 2)) + "…"]
            + (reason.map { Columns.wrapped($0, max(20, width - 5)).map { "    \($0)" } } ?? [])
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
                Terminal.write("\(QueueLine(transfer).text)\n", to: STDERR_FILENO)
            }
            return
        }
        var live = LiveLines(STDERR_FILENO)
        for try await figures in session.figures(every: .milliseconds(500)) {
            let running = try await session.transfers(in: [.running], limit: min(10, live.limit))
            var summary = Self.summary(figures.counts)
            if figures.bytesPerSecond > 0 { summary += ", \(Units.bytes(Int64(figures.bytesPerSecond)))/s" }
            let width = live.width
            let lines = running.map { Self.line($0).text(width: width) }
            live.draw(lines + [Columns.prefix(of: summary, max(1, width - 1))])
        }
    }

    private static func line(_ transfer: DurableTransfer) -> TransferLine {
        let name = transfer.request.source.map(FileLabel.text) ?? Download.name(of: transfer.request.url) ?? "?"
        return TransferLine(name: printable(name), state: .running, count: transfer.transferred, total: transfer.total)
    }

    private static func summary(_ counts: [DurableTransfer.State: Int]) -> String {
        let parts = DurableTransfer.State.allCases.compactMap { state in counts[state].map { "\($0) \(state)" } }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    /// Prints the counts, and the reasons of the transfers that have failed.
    /// - Returns: The number of failed transfers.
    func end(wasInterrupted: Bool) async throws -> Int {
        let counts = try await session.counts()
        guard !wasInterrupted else { return counts[.failed] ?? 0 }
        Terminal.write("\(Self.summary(counts))\n", to: STDERR_FILENO)
        let failed = try await session.transfers(in: [.failed], limit: 20)
        for transfer in failed {
            let reason = transfer.lastError.map { "\($0.code): \($0.message)" } ?? "no reason is known"
            Messages.report("\(transfer.request.url): \(reason)")
        }
        let count = counts[.failed] ?? 0
        if count > failed.count { Messages.note("\(count - failed.count) more; 'curlew queue list' has them") }
        return count
    }
}
