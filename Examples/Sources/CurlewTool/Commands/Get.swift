import ArgumentParser

/// `curlew [URL]`: a GET, or the tour.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch a URL and show how it went; without one, show some exchanges with an embedded server.")

    @Argument(help: "What to fetch.")
    var url: String?

    func run() async throws {
        if let url { try await Demo.get(url) } else { try await Demo.tour() }
    }
}
