public import ArgumentParser
import Curlew
import Glibc

/// The command line tool.
public struct CurlewTool: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "curlew",
        abstract: "An HTTP client, and a tour of what its library does.",
        subcommands: [
            Get.self, Download.self, Upload.self, Queue.self, Cache.self, Trust.self, Reach.self, ImageCommand.self,
        ],
        defaultSubcommand: Get.self)

    public init() {}

    /// Parses and runs the command line, and ends the process: with status 64 for an invalid command line, else with
    /// ``ExitStatus`` of the error.
    public static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as CurlewError {
            Terminal.write("curlew: \(error)\n", to: STDERR_FILENO)
            Glibc.exit(ExitStatus.status(for: error.code))
        } catch {
            exit(withError: error)
        }
    }
}
