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
        setvbuf(stdout, nil, Int32(_IOLBF), 0)
        let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
        guard arguments.count <= 2, !arguments.contains(nil) else {
            print("usage: soak [SECONDS] [SEED]")
            exit(2)
        }
        let seconds = (arguments.first ?? 60) ?? 60
        let seed = (arguments.dropFirst().first ?? nil) ?? UInt64.random(in: 0...UInt64(UInt32.max))
        let soak = try await Soak(seed: seed, duration: .seconds(Int64(clamping: seconds)))
        let findings = try await soak.run()
        guard findings.isEmpty else {
            for finding in findings { print("FOUND: \(finding)") }
            print("failed with seed \(seed)")
            exit(1)
        }
        print("nothing found")
    }
}
