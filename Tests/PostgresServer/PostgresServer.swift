internal import Curlew
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A PostgreSQL server in its own folder, reached by a socket there. The server ends with this process in any case,
/// because it reads from a pipe whose other end is here.
package final class PostgresServer: Sendable {
    /// The folder of PostgreSQL's programs; nil if it is not installed.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        let folders = versions.sorted(by: >).map { "\(root)/\($0)/bin" } + ["/usr/bin", "/usr/local/bin"]
        return folders.first { access("\($0)/initdb", X_OK) == 0 && access("\($0)/pg_ctl", X_OK) == 0 }
    }()

    /// The user that runs the server, because the server refuses to run as root.
    private static let user: String? = geteuid() == 0 ? (getpwnam("postgres") != nil ? "postgres" : "nobody") : nil

    /// False on a developer's machine without PostgreSQL: then its tests are skipped. In CI they fail.
    package static let isExpected = programs != nil || getenv("CI") != nil || getenv("CURLEW_TEST_POSTGRES") != nil

    /// True if PostgreSQL is expected. The shared server is started, or has failed to start, before tests count
    /// processes and descriptors.
    package static var isReady: Bool {
        if isExpected { _ = shared }
        return isExpected
    }

    /// The server shared by tests that do not disturb it. It starts with the first of them.
    package static let shared: Result<PostgresServer, any Error> = Result { try PostgresServer() }

    package let folder: String
    private let data: String
    private let programs: String
    private let lifeline: Atomic<Int32>
    private let child: pid_t

    /// - Parameter settings: Settings of the server, such as `max_connections=5`.
    package init(_ settings: [String] = ["fsync=off"]) throws {
        guard let programs = Self.programs else {
            throw CurlewError(.unsupported, "there is no PostgreSQL server; Debian's package is postgresql")
        }
        self.programs = programs
        folder = "/tmp/curlew-postgres-\(UInt64.random(in: 0...UInt64.max))"
        data = "\(folder)/data"
        guard mkdir(folder, 0o755) == 0 else { throw CurlewError(.fileFailed, "no folder for the server") }
        if let user = Self.user, let entry = getpwnam(user) {
            chown(folder, entry.pointee.pw_uid, entry.pointee.pw_gid)
        }
        let options = (settings + ["listen_addresses=", "unix_socket_directories=\(folder)", "logging_collector=off"])
            .map { "-c \($0)" }.joined(separator: " ")
        let script = """
            exec 2> \(folder)/log
            \(programs)/initdb -D \(data) -A trust -U curlew --no-sync --no-locale -E UTF8 >&2 || exit 1
            \(programs)/pg_ctl -D \(data) -w -t 60 -l \(folder)/server.log -o "\(options)" start >&2 || exit 1
            echo ready
            read end
            \(programs)/pg_ctl -D \(data) -m immediate stop >&2
            rm -rf \(folder)/*
            """
        let words = (Self.user.map { ["/usr/sbin/runuser", "-u", $0, "--"] } ?? []) + ["/bin/sh", "-c", script]
        let (child, descriptor) = try Self.start(words, folder)
        self.child = child
        lifeline = Atomic(descriptor)
    }

    deinit { stop() }

    package func stop() {
        // The process number may belong to another process afterwards.
        let descriptor = lifeline.exchange(-1, ordering: .relaxed)
        guard descriptor >= 0 else { return }
        close(descriptor)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        rmdir(folder)
    }

    private static func start(_ words: [String], _ folder: String) throws -> (pid_t, Int32) {
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw CurlewError(.fileFailed, "no pipe") }
        for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let failure = posix_spawn(&child, words[0], &actions, nil, &arguments, environ)
        close(input[0])
        close(output[1])
        defer { close(output[0]) }
        var space = [UInt8](repeating: 0, count: 16)
        guard failure == 0, read(output[0], &space, space.count) > 0 else {
            close(input[1])
            let log = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
            throw CurlewError(.unsupported, "the PostgreSQL server does not start: \(log)")
        }
        return (child, input[1])
    }

    /// The connection string for a role.
    package func url(role: String = "curlew") -> String { "host=\(folder) user=\(role) dbname=postgres" }

    // MARK: Faults

    /// The process of the server.
    var process: pid_t {
        let text = (try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first.flatMap { pid_t($0) } ?? -1
    }

    /// All processes of the server.
    private var processes: [pid_t] {
        let children = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
        return [process] + children.split(separator: " ").compactMap { pid_t($0) }
    }

    /// Kills the server with all its processes.
    package func kill() {
        let all = processes
        for process in all where process > 0 { _ = Glibc.kill(process, SIGKILL) }
        for process in all where process > 0 {
            while Glibc.kill(process, 0) == 0, !isZombie(process) { usleep(1000) }
        }
    }

    private func isZombie(_ process: pid_t) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        return status.contains("State:\tZ")
    }

    /// Stops or continues the server.
    package func stand(still isStill: Bool) {
        for process in processes where process > 0 { _ = Glibc.kill(process, isStill ? SIGSTOP : SIGCONT) }
    }

    /// Restarts the server after a kill.
    package func restart() throws {
        // A zombie process that is never reaped keeps the number in the lock file alive.
        for lock in ["data/postmaster.pid", ".s.PGSQL.5432.lock"] { unlink("\(folder)/\(lock)") }
        let command =
            "\(programs)/pg_ctl -D \(data) -w -t 60 -l \(folder)/server.log -o \"-c fsync=off -c listen_addresses= -c unix_socket_directories=\(folder)\" start"
        let whole = Self.user.map { "/usr/sbin/runuser -u \($0) -- /bin/sh -c '\(command)'" } ?? command
        guard system("\(whole) > /dev/null 2>&1 < /dev/null") == 0 else {
            let log = (try? String(contentsOfFile: "\(folder)/server.log", encoding: .utf8)) ?? ""
            throw CurlewError(.unsupported, "the PostgreSQL server does not start again: \(log.suffix(2000))")
        }
    }

    /// Runs statements with PostgreSQL's own program.
    @discardableResult
    package func run(_ sql: String, role: String = "curlew") throws -> String {
        let file = "/tmp/curlew-psql-\(UInt64.random(in: 0...UInt64.max))"
        defer { unlink(file) }
        try Data(sql.utf8).write(to: URL(filePath: file))
        let status = system(
            "\(programs)/psql -X -q -A -t -v ON_ERROR_STOP=1 -h \(folder) -U \(role) -d postgres -f \(file) > \(file).out 2>&1"
        )
        defer { unlink("\(file).out") }
        let output = (try? String(contentsOfFile: "\(file).out", encoding: .utf8)) ?? ""
        guard status == 0 else { throw CurlewError(.queueFailed, "psql: \(output)") }
        return output
    }
}
