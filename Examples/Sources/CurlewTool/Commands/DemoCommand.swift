import ArgumentParser
import CurlewDemo

/// `curlew demo`: the tour of `make demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Show what the library does, with an embedded server.")

    func run() async throws { try await Demo.tour() }
}
