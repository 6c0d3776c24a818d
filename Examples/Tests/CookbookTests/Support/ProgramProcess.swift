import Dispatch
import Foundation
import Glibc

/// A program of the cookbook as a child process, whose memory the kernel counts.
final class ProgramProcess: Sendable {
    /// The end of a process.
    struct End: Sendable {
        /// The exit status, negative for a signal.
        let status: Int32
        /// The most memory that was resident, in bytes.
        let peakResidentBytes: Int
    }

    private let process: pid_t
    private let folder: TemporaryFolder
    private let ended: Task<End, Never>

    /// - Parameter arguments: The name of the program and its arguments.
    convenience init(_ arguments: String...) throws { try self.init(arguments) }

    init(_ arguments: [String]) throws {
        folder = try TemporaryFolder()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, folder.path("output"), O_WRONLY | O_CREAT, 0o600)
        // The program lies beside the one that runs the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("cookbook").path
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, program, &actions, nil, &words, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        self.process = process
        ended = Task { [process] in
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: Self.wait(for: process)) }
            }
        }
    }

    private static func wait(for process: pid_t) -> End {
        var word: Int32 = 0
        var usage = rusage()
        while wait4(process, &word, 0, &usage) < 0, errno == EINTR {}
        let signal = word & 0x7F
        return End(
            status: signal == 0 ? word >> 8 & 0xFF : -signal, peakResidentBytes: Int(usage.ru_maxrss) * 1024)
    }

    func send(_ signal: Int32) { kill(process, signal) }

    /// The lines that the program has written so far.
    var lines: [String] { folder.text("output").split(separator: "\n").map(String.init) }

    /// Waits for the end of the process.
    func end() async -> End { await ended.value }
}
