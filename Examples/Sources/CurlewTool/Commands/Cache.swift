import ArgumentParser
import Curlew
import CurlewStorage
import Glibc
import HTTPTypes
import TerminalOutput

/// `curlew cache list|show|clear`: the entries that `curlew --cache URL` has stored.
struct Cache: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show or remove the responses that 'curlew --cache URL' has stored.",
        subcommands: [List.self, Show.self, Clear.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the stored responses, a line each.")

        @OptionGroup var folder: CacheFolder

        func run() async throws {
            let store = try await folder.open()
            let output = OutputFile.standard
            var last: HTTPCache.Entry.ID?
            while true {
                let entries = try await store.list(after: last, count: 100)
                for entry in entries {
                    let type = entry.head.headerFields[.contentType] ?? "-"
                    let line =
                        "\(entry.id)  \(entry.head.status.code)  \(Units.bytes(entry.bodySize))  \(type)  \(entry.uri)"
                    try output.write("\(printable(line))\n")
                }
                guard let end = entries.last else { break }
                last = end.id
            }
            let contents = try await store.contents
            let size = Units.bytes(Int64(contents.size.bytes))
            Terminal.write(
                "\(Units.count(contents.entries, "entry", "entries")), \(size) of \(Units.bytes(Int64(contents.capacity.bytes)))\n",
                to: STDERR_FILENO)
            try await store.close()
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the fields of the stored responses of a name or a URL.")

        @Argument(help: "The name of an entry, as 'list' shows it, or a URL.")
        var subject: String

        @Flag(help: "Write the body to standard output instead.")
        var body = false

        @OptionGroup var folder: CacheFolder

        func run() async throws {
            let store = try await folder.open()
            let found = try await entries(of: store)
            guard !found.isEmpty else {
                Terminal.write("curlew: nothing is stored under \(printable(subject))\n", to: STDERR_FILENO)
                throw ExitCode(1)
            }
            let output = OutputFile.standard
            for entry in found {
                if body {
                    guard let stored = try await store.body(of: entry, range: 0..<entry.bodySize) else { continue }
                    for try await chunk in stored { try output.write(chunk) }
                } else {
                    try show(entry, in: output)
                }
            }
            try await store.close()
        }

        private func entries(of store: DiskCacheStore) async throws -> [HTTPCache.Entry] {
            let id = HTTPCache.Entry.ID(subject)
            var found: [HTTPCache.Entry] = []
            var last: HTTPCache.Entry.ID?
            repeat {
                let entries = try await store.list(after: last, count: 100)
                found += entries.filter { $0.id == id || $0.uri == subject }
                last = entries.last?.id
            } while last != nil
            return found
        }

        private func show(_ entry: HTTPCache.Entry, in output: OutputFile) throws {
            var lines = [
                "\(entry.id)  \(entry.uri)", "status: \(entry.head.status.code) \(entry.head.status.reasonPhrase)",
            ]
            lines += entry.head.headerFields.map { "\($0.name.rawName): \($0.value)" }
            lines += entry.selectors.map { "selected by \($0.name): \($0.value ?? "its absence")" }
            if let partition = entry.key.partition { lines.append("partition: \(partition)") }
            if let range = entry.range { lines.append("bytes: \(range.lowerBound)-\(range.upperBound - 1)") }
            lines.append("body: \(Units.bytes(entry.bodySize))")
            try output.write(lines.map { "\(printable($0))\n" }.joined())
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove all stored responses, or those of a URL.")

        @Argument(help: "The URL; none removes everything.")
        var url: String?

        @OptionGroup var folder: CacheFolder

        func run() async throws {
            let store = try await folder.open()
            let cache = HTTPCache(store: store)
            if let url { try await cache.remove(CurlewURI(url)) } else { try await cache.removeAll() }
            try await store.close()
        }
    }
}
