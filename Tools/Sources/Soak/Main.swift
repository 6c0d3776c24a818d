import Foundation
import Glibc

/// Keeps a session busy with failing servers, and checks that every answer is correct, none is late and nothing is left
/// at the end.
///
///     soak [SECONDS] [SEED] [MODE]
///
/// Without a mode all of them share the time, and the first one has half of it. `LD_LIBRARY_PATH` chooses another
/// libcurl.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.compactMap { UInt64($0) }
        let modes = arguments.compactMap { SoakMode(rawValue: $0) }
        guard numbers.count + modes.count == arguments.count, numbers.count <= 2 else {
            report("usage: soak [SECONDS] [SEED] [\(SoakMode.allCases.map(\.rawValue).joined(separator: " | "))]")
            exit(2)
        }
        let seconds = Int64(clamping: numbers.first ?? 60)
        let seed = numbers.dropFirst().first ?? UInt64.random(in: 0...UInt64(UInt32.max))
        var findings: [String] = []
        for mode in modes.isEmpty ? SoakMode.allCases : modes {
            let isFirst = mode == SoakMode.allCases.first
            let others = Int64(SoakMode.allCases.count - 1)
            let share = modes.isEmpty ? (isFirst ? seconds / 2 : seconds / 2 / others) : seconds / Int64(modes.count)
            let soak = try await Soak(mode, seed: seed, duration: .seconds(max(1, share)))
            findings += try await soak.run().map { "\(mode): \($0)" }
        }
        guard findings.isEmpty else {
            for finding in findings { report("FOUND: \(finding)") }
            report("failed with seed \(seed)")
            exit(1)
        }
        report("nothing found")
    }
}

/// Prints a line without buffering, into a pipe or a file too.
func report(_ line: String) {
    print(line)
    fflush(nil)
}
