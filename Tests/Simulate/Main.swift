internal import Curlew
internal import FoundationEssentials
internal import LoadSimulation

/// Runs the simulation of the article "Load and failure", prints the results, and writes the picture to a path.
@main
enum Main {
    static func main() throws {
        let runs = StandardRuns()
        print("calls, per part of the run:          ok   failed     sent   mean time")
        for panel in runs.panels {
            print(panel.title)
            for (name, part) in Summary.parts(of: panel.seconds, runs.plan) {
                let time = "\(Int((part.meanTime * 1000).rounded())) ms"
                print(
                    "  " + pad(name, 26), right(part.successes), right(part.failures), right(part.sent), right(time, 11)
                )
            }
        }
        guard CommandLine.arguments.count > 1 else { return }
        let path = CommandLine.arguments[1]
        try Data(runs.picture.utf8).write(to: URL(filePath: path))
        print("picture: \(path)")
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func right(_ value: some CustomStringConvertible, _ width: Int = 8) -> String {
        let text = value.description
        return String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
