import Glibc

/// This program once more, as a process of its own.
struct ChildProcess {
    private let identifier: pid_t

    init(_ arguments: [String]) throws {
        var identifier: pid_t = 0
        let all = ["crash-campaign"] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = all.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        let status = posix_spawn(&identifier, "/proc/self/exe", nil, nil, &pointers, environ)
        guard status == 0 else { throw Finding("no process could be started: errno \(status)") }
        self.identifier = identifier
    }

    /// How a process ended.
    enum End: Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    /// Waits for the end; kills the process if it has not come after a while.
    func end(within limit: Duration) async throws -> End {
        let deadline = ContinuousClock.now.advanced(by: limit)
        var isKilled = false
        while true {
            var status: Int32 = 0
            if waitpid(identifier, &status, WNOHANG) == identifier {
                let signal = status & 0x7F
                return signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal)
            }
            if !isKilled, ContinuousClock.now >= deadline {
                kill(identifier, SIGKILL)
                isKilled = true
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
