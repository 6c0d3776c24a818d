public import ArgumentParser
import Curlew
import Glibc
import TerminalOutput

/// The command line tool.
public struct CurlewTool: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "curlew",
        abstract: "An HTTP client for the daily call, for downloads, uploads and queues of them.",
        usage: """
            curlew [<method>] <url> [<item> ...] [<options>]
            curlew <subcommand>
            """,
        discussion: """
            curlew example.com                         the body on standard output
            curlew example.com/users name=Ada age:=36  a POST with JSON
            curlew example.com/find q==curlew          a query
            curlew -o page.html -L example.com         options as in curl
            curlew --events example.com/stream         events as they come
            curlew download https://example.com/a.iso  with a bar, and resumable

            'curlew get --help' has the options, the items and the exit statuses of the call.
            """,
        version: ToolVersion.text,
        subcommands: [
            Call.self, Download.self, Upload.self, Queue.self, Cache.self, Trust.self, Reach.self, ImageCommand.self,
            WebSocketCommand.self, DemoCommand.self, ManualCommand.self,
        ],
        defaultSubcommand: Call.self)

    public init() {}

    /// Parses and runs the command line, and ends the process with ``ExitStatus`` of the error.
    public static func main() async {
        // A closed pipe is an error of the write, so that transfers can end in order.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot(words(Array(CommandLine.arguments.dropFirst())))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as CurlewError {
            Messages.report(error)
            Glibc.exit(ExitStatus.status(for: error))
        } catch let failure as OutputFailure {
            if case .failed(let error) = failure { Messages.report(error) }
            Glibc.exit(ExitStatus.output)
        } catch {
            end(with: error)
        }
    }

    /// The words for ArgumentParser: those of a subcommand as they are, those of a call rewritten.
    static func words(_ words: [String]) -> [String] {
        guard let first = words.first else { return ["--help"] }
        if first == "-V" { return ["--version"] }
        let names = configuration.subcommands.map { $0._commandName }
        let isCall = first == "get" || !names.contains(first)
        guard isCall, !["help", "--help", "-h", "--version"].contains(first), !first.hasPrefix("--generate"),
            !first.hasPrefix("--experimental"), !first.hasPrefix("---")
        else { return words }
        return ["get"] + CommandWords.rewritten(first == "get" ? Array(words.dropFirst()) : words)
    }

    /// Ends the process: with status 2 for a wrong command line, as curl does.
    private static func end(with error: any Error) -> Never {
        let code = exitCode(for: error)
        guard code == .validationFailure else { exit(withError: error) }
        Terminal.write("\(fullMessage(for: error))\n", to: STDERR_FILENO)
        Glibc.exit(ExitStatus.usage)
    }
}
