#if TestKit
import Foundation
import Glibc

/// Keeps a session busy with servers that fail, and looks whether every answer is right, none comes too late and nothing
/// is left at the end.
///
///     soak [SECONDS] [SEED]
///
/// `LD_LIBRARY_PATH` chooses another libcurl.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.compactMap { UInt64($0) }
        guard numbers.count == arguments.count, numbers.count <= 2 else {
            report("usage: soak [SECONDS] [SEED]")
            exit(2)
        }
        let seconds = numbers.first ?? 60
        let seed = numbers.dropFirst().first ?? UInt64.random(in: 0...UInt64(UInt32.max))
        let soak = try await Soak(seed: seed, duration: .seconds(Int64(clamping: seconds)))
        let findings = try await soak.run()
        guard findings.isEmpty else {
            for finding in findings { report("FOUND: \(finding)") }
            report("failed with seed \(seed)")
            exit(1)
        }
        report("nothing found")
    }
}

/// Prints a line at once, into a pipe or a file too.
func report(_ line: String) {
    print(line)
    fflush(nil)
}
#else
/// Says what is missing: its servers come from the test kit.
@main
struct Main {
    static func main() { print("soak was built without the trait TestKit") }
}
#endif
