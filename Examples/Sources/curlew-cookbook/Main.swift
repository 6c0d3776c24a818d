import Cookbook
import Glibc

/// `cookbook PROGRAM ARGUMENTS`: runs a program of the cookbook as a separate process. Progress and events are lines of
/// its output.
@main
struct Main {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "disc" where words.count == 4:
            say(try await fetchDisc(from: words[1], sha256: words[2], into: words[3]))
        case "lines" where words.count == 2:
            say("\(try await totals(of: words[1]).rows)")
        case "mirror" where words.count >= 2 && words.count.isMultiple(of: 2):
            let discs = stride(from: 2, to: words.count, by: 2).map { (url: words[$0], sha256: words[$0 + 1]) }
            for path in try await mirror(discs, into: words[1], onEnqueued: { say("enqueued") }) { say(path) }
        case "shop" where words.count == 5:
            let shop = ShopServer(port: Int(words[1]) ?? 0, users: words[2], orders: words[3], offers: words[4]) {
                port in
                say("http://127.0.0.1:\(port)/")
            }
            try await shop.run()
        case "fetch" where words.count == 2:
            exit(await fetch(words[1]))
        default:
            say(
                """
                usage: cookbook disc BASE-URL SHA-256 FOLDER
                       cookbook fetch URL
                       cookbook lines BASE-URL
                       cookbook mirror FOLDER [URL SHA-256]...
                       cookbook shop PORT USERS-URL ORDERS-URL OFFERS-URL
                """)
            exit(64)
        }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
