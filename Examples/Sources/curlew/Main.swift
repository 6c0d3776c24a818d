import Curlew
import Glibc

/// The command line tool: without an argument a tour of the client on a server of its own, with a URL a GET of it,
/// with `trust` a look at a server's certificates, with `reach` what becomes of the network.
@main
struct Main {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            switch (arguments.first, arguments.count) {
            case (nil, _): try await Demo.tour()
            case ("-h", _), ("--help", _): print(usage)
            case ("trust", 2): exit(try await Trust.inspect(CommandLine.arguments[2]))
            case ("reach", 1): try await Reach.follow(nil)
            case ("reach", 2) where !CommandLine.arguments[2].hasPrefix("-"):
                try await Reach.follow(CommandLine.arguments[2])
            case (let url?, 1) where !url.hasPrefix("-"): try await Demo.get(url)
            default: throw UsageError()
            }
        } catch is UsageError {
            complain(usage)
            exit(64)
        } catch let error as CurlewError {
            complain("curlew: \(error)")
            exit(ExitStatus.status(for: error.code))
        } catch {
            complain("curlew: \(error)")
            exit(1)
        }
    }

    private struct UsageError: Error {}

    private static let usage = """
        usage: curlew          five exchanges with an embedded server on loopback
               curlew URL      a GET of the URL
               curlew reach [HOST]
                               whether the network, or a host, can be reached, now and after each change
               curlew trust HOST[:PORT]
                               a server's certificates, whether they are trusted, and the pins to copy
        """

    private static func complain(_ text: String) { Terminal.write(text + "\n", to: STDERR_FILENO) }
}
