import Dispatch
import Foundation
import Glibc

/// The built tool as a child process.
final class ToolProcess: Sendable {
    /// The end of the process.
    struct End: Sendable {
        /// The exit status, negative for a signal.
        var status: Int32
        var output: String
        var complaints: String
    }

    private let process: pid_t
    private let folder: TemporaryFolder
    private let ended: Task<Int32, Never>

    /// - Parameters:
    ///   - arguments: The arguments after the tool's name.
    ///   - columns: The columns of a terminal, which merges standard output and standard error; nil is none.
    ///   - input: The standard input.
    ///   - variables: Further variables of the environment.
    ///   - program: Another program in place of the tool.
    init(
        _ arguments: [String], columns: Int? = nil, input: String? = nil, variables: [String: String] = [:],
        program: String? = nil
    ) throws {
        folder = try TemporaryFolder()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { try Data(input.utf8).write(to: URL(fileURLWithPath: folder.path("input"))) }
        posix_spawn_file_actions_addopen(&actions, 0, input == nil ? "/dev/null" : folder.path("input"), O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, folder.path("output"), O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, folder.path("complaints"), O_WRONLY | O_CREAT, 0o600)
        var all = [try program ?? Self.tool()] + arguments
        if let columns {
            let quoted = all.map { "'\($0.replacingOccurrences(of: "'", with: "'\\''"))'" }.joined(separator: " ")
            all = ["/usr/bin/script", "-qefc", "stty cols \(columns) rows 30; exec \(quoted)", "/dev/null"]
        }
        // The tests use neither the terminal nor the proxies of the process that runs them.
        var values = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        values["NO_COLOR"] = nil
        values["TERM"] = "xterm"
        values.merge(variables) { $1 }
        var environment = values.map { strdup("\($0)=\($1)") } + [nil]
        defer { environment.forEach { free($0) } }
        var words = all.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, all[0], &actions, nil, &words, &environment)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        self.process = process
        ended = Task { [process] in
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: Self.wait(for: process)) }
            }
        }
    }

    /// The path of the tool, which is beside the program that runs the tests.
    static func tool() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("curlew").path
    }

    private static func wait(for process: pid_t) -> Int32 {
        var word: Int32 = 0
        while waitpid(process, &word, 0) < 0, errno == EINTR {}
        let signal = word & 0x7F
        return signal == 0 ? word >> 8 & 0xFF : -signal
    }

    func send(_ signal: Int32) { kill(process, signal) }

    /// The output so far.
    var output: String { folder.text("output") }

    /// The greatest resident memory so far, in bytes; nil after the end. The measure of `wait4` is not below the memory
    /// of the tests, whose copy the process was for a moment.
    var residentPeak: Int? {
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    /// The number of bytes on standard output so far.
    var outputSize: Int {
        (try? FileManager.default.attributesOfItem(atPath: folder.path("output"))[.size] as? Int) ?? 0
    }

    /// The text on standard error so far.
    var complaints: String { folder.text("complaints") }

    /// Waits until the process has ended.
    func end() async -> End {
        let status = await ended.value
        return End(status: status, output: folder.text("output"), complaints: folder.text("complaints"))
    }
}

extension ToolProcess {
    /// Runs the tool to its end.
    static func run(
        _ arguments: String..., columns: Int? = nil, input: String? = nil, variables: [String: String] = [:]
    ) async throws -> ToolProcess.End {
        await (try ToolProcess(arguments, columns: columns, input: input, variables: variables)).end()
    }
}

extension ToolProcess.End {
    /// True for this status and these texts.
    func `is`(_ status: Int32, _ output: String, _ complaints: String) -> Bool {
        self.status == status && self.output == output && self.complaints == complaints
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
