#if TestKit && Storage
import Dispatch
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

    /// Lets the process stand still, or go on.
    func stand(still isStill: Bool) { kill(identifier, isStill ? SIGSTOP : SIGCONT) }

    /// Waits for the end; kills the process if it has not come after a while.
    func end(within limit: Duration) async -> End {
        let killer = Task { [identifier] in
            try await ContinuousClock().sleep(for: limit)
            kill(identifier, SIGKILL)
        }
        // Its end is seen before it is taken note of, so that its number is not another's by the time it would be killed.
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
#endif
