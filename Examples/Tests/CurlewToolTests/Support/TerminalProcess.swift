import Dispatch
import Foundation
import Glibc
import Synchronization

/// The tool as a child process on a terminal of its own, on which the test types.
final class TerminalProcess: Sendable {
    // The C library's module lacks these constants of Linux: TIOCSPTLCK, TIOCGPTN and POSIX_SPAWN_SETSID.
    private static let setsLock: UInt = 0x4004_5431
    private static let readsNumber: UInt = 0x8004_5430
    private static let makesSession: Int16 = 0x80

    private let keyboard: Int32
    private let process: pid_t
    private let shown = Mutex("")
    private let changes: AsyncStream<Void>

    init(_ arguments: [String]) throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        guard keyboard >= 0, ioctl(keyboard, Self.setsLock, &isLocked) == 0,
            ioctl(keyboard, Self.readsNumber, &number) == 0
        else { throw POSIXError(.ENOTTY) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens belongs to the session.
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/pts/\(number)", O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Self.makesSession)
        var words = ([try ToolProcess.tool()] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, try ToolProcess.tool(), &actions, &attributes, &words, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        self.process = process
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        self.changes = changes
        DispatchQueue(label: "terminal").async { [self] in
            var bytes = [UInt8](repeating: 0, count: 4096)
            // The read fails once the process has closed the terminal.
            while case let count = read(keyboard, &bytes, bytes.count), count > 0 {
                shown.withLock { $0 += String(decoding: bytes.prefix(count), as: UTF8.self) }
                change.yield()
            }
            change.finish()
        }
    }

    deinit { close(keyboard) }

    /// The text on the terminal so far.
    var output: String { shown.withLock { $0 } }

    func type(_ text: String) { _ = write(keyboard, text, text.utf8.count) }

    /// Returns once the text is on the terminal, or the process has ended.
    func waitForOutput(_ text: String) async {
        if output.contains(text) { return }
        for await _ in changes where output.contains(text) { return }
    }

    /// Waits until the process has ended.
    /// - Returns: The exit status, negative for a signal.
    func end() async -> Int32 {
        for await _ in changes {}
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [process] in
                var word: Int32 = 0
                while waitpid(process, &word, 0) < 0, errno == EINTR {}
                let signal = word & 0x7F
                continuation.resume(returning: signal == 0 ? word >> 8 & 0xFF : -signal)
            }
        }
    }
}
