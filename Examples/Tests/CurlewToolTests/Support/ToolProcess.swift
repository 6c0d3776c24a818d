import Dispatch
import Foundation
import Glibc

/// The built tool as a child process, whose memory the kernel measures.
final class ToolProcess: Sendable {
    /// The end of the process.
    struct End: Sendable {
        /// The exit status, negative for a signal.
        var status: Int32
        /// The peak resident memory in bytes.
        var peakResidentBytes: Int
        var output: String
        var complaints: String
    }

    private let process: pid_t
    private let folder: TemporaryFolder
    private let ended: Task<(status: Int32, peakResidentBytes: Int), Never>

    /// - Parameters:
    ///   - arguments: The arguments after the tool's name.
    ///   - isOnTerminal: True for a terminal of 100 columns, which merges standard output and standard error.
    init(_ arguments: [String], onTerminal isOnTerminal: Bool = false) throws {
        folder = try TemporaryFolder()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, folder.path("output"), O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, folder.path("complaints"), O_WRONLY | O_CREAT, 0o600)
        // The executable is beside the program that runs the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("curlew").path
        var all = [tool] + arguments
        if isOnTerminal {
            let quoted = all.map { "'\($0.replacingOccurrences(of: "'", with: "'\\''"))'" }.joined(separator: " ")
            all = ["/usr/bin/script", "-qefc", "stty cols 100 rows 30; exec \(quoted)", "/dev/null"]
        }
        var words = all.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, all[0], &actions, nil, &words, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        self.process = process
        ended = Task { [process] in
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: Self.wait(for: process)) }
            }
        }
    }

    private static func wait(for process: pid_t) -> (status: Int32, peakResidentBytes: Int) {
        var word: Int32 = 0
        var usage = rusage()
        while wait4(process, &word, 0, &usage) < 0, errno == EINTR {}
        let signal = word & 0x7F
        return (signal == 0 ? word >> 8 & 0xFF : -signal, Int(usage.ru_maxrss) * 1024)
    }

    func send(_ signal: Int32) { kill(process, signal) }

    /// The output so far.
    var output: String { folder.text("output") }

    /// Waits until the process has ended.
    func end() async -> End {
        let (status, peak) = await ended.value
        return End(
            status: status, peakResidentBytes: peak, output: folder.text("output"),
            complaints: folder.text("complaints"))
    }
}

/// A folder that is deleted with its last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("curlew-\(UUID())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func text(_ name: String) -> String {
        (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? ""
    }

    /// The sorted names of the folder's contents.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}
