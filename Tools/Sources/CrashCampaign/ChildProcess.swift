import Dispatch
import Glibc

/// This program as another process.
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

    /// The end of a process.
    enum End: Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    /// Stops or continues the process.
    func stand(still isStill: Bool) { kill(identifier, isStill ? SIGSTOP : SIGCONT) }

    /// Waits for the end of the process, and kills it after the limit.
    func end(within limit: Duration) async -> End {
        let killer = Task { [identifier] in
            try await ContinuousClock().sleep(for: limit)
            kill(identifier, SIGKILL)
        }
        // The end is observed before the process is reaped, so that a kill never hits another process with the same
        // number.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [identifier] in
                var information = siginfo_t()
                while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
                killer.cancel()
                continuation.resume()
            }
        }
        _ = await killer.result
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal)
    }
}
