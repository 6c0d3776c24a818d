#if Storage || Postgres
public import Curlew
internal import Glibc
public import HTTPTypes

extension DurableSession {
    /// How transfers are run.
    public struct Options: Sendable {
        /// The most transfers at a time, of all processes.
        public var limits = Limits()
        /// Yields the secret fields of a request, such as Authorization, before each attempt. They are never on the disk, and they count as
        /// ``Curlew/RequestOptions/secretFields``: a redirect to another origin takes none of them along. What it throws is a failed attempt,
        /// which is repeated.
        public var authorization: (@Sendable (DurableTransfer.Request) async throws -> HTTPFields)?
        /// The absolute paths of the folders that the files of transfers may lie in, at any depth; nil, the default, is every folder. Paths are
        /// compared after links are resolved, before each attempt. A download to another folder fails with
        /// ``Curlew/ErrorCode/invalidDestination``, an upload of a file elsewhere with ``Curlew/ErrorCode/invalidRequest``. A queue that
        /// others can write, such as that of a fleet, should name them.
        public var folders: [String]?
        /// The time after which another worker takes a transfer whose worker has not been heard of: a process that stands
        /// still. One that was killed is known at once. 30 seconds by default, 1 at least.
        public var lease: Duration = .seconds(30)
        /// The retries, over restarts of the process. By default a transfer has failed after 20 attempts, which take about two hours of a
        /// server that is down; the waits double from 1 second to 10 minutes. A Retry-After of up to a day is waited for, and a longer one
        /// counts as that. The total time, without a limit by default, begins when a transfer is enqueued.
        /// ``DurableTransfer/Request/attempts`` goes before ``Curlew/Retry/Policy/attempts``.
        public var retries = Retry.Policy(
            attempts: 20, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(600)),
            retryAfterLimit: .seconds(86_400), totalTime: Timeouts.unlimited)
        /// The number of bytes between two of a download's checkpoints; what came since the last is lost with the process.
        public var checkpoint: ByteSize = .mebibytes(16)
        /// When transfers may run; none is always.
        public var windows: [Window] = []
        /// The state of the network; nil is that of a ``Curlew/ReachabilityMonitor``.
        package var network: (@Sendable () async -> ReachabilityStatus)?
        /// The clock of the windows: seconds since 1970.
        package var now: @Sendable () -> Int = { time(nil) }

        var leaseInUse: Duration { max(lease, .seconds(1)) }

        public init() {}
    }

    /// Limits of a queue.
    public struct Limits: Sendable {
        /// The most transfers that run at a time. 4 by default; 0 runs none.
        public var total = 4
        /// The most of one host. 2 by default.
        public var perHost = 2
        /// The most with a tag, such as `["video": 1]`.
        public var perTag: [String: Int] = [:]
        /// The most bytes that the files of the queue may take: those of downloads under way, with what is to come, and of those that have
        /// finished and were not acknowledged. A download that there is no room for waits, one that is larger fails. nil is no limit.
        public var diskQuota: ByteSize?
        /// The room that is left free on the disk of a download. 64 MiB by default.
        public var freeSpace: ByteSize = .mebibytes(64)

        public init() {}
    }

    /// A part of the day in which transfers may run, in the machine's local time. Those that run when it ends are stopped, and resume in the next.
    public struct Window: Sendable, Hashable {
        /// Minutes since midnight. A window whose end is not after its start ends on the next day.
        public var start: Int
        public var end: Int
        /// The days on which it starts, 0 (Sunday) to 6; all of them by default.
        public var weekdays: Set<Int>

        public init(start: Int, end: Int, weekdays: Set<Int> = Set(0...6)) {
            self.start = min(max(start, 0), 1439)
            self.end = min(max(end, 0), 1440)
            self.weekdays = weekdays
        }

        /// True at a minute of a weekday.
        func contains(minute: Int, weekday: Int) -> Bool {
            if start < end { return weekdays.contains(weekday) && (start..<end).contains(minute) }
            return (weekdays.contains(weekday) && minute >= start)
                || (weekdays.contains((weekday + 6) % 7) && minute < end)
        }

        static func isOpen(_ windows: [Window], at seconds: Int) -> Bool {
            guard !windows.isEmpty else { return true }
            var seconds = seconds
            var local = tm()
            guard localtime_r(&seconds, &local) != nil else { return true }
            let minute = Int(local.tm_hour) * 60 + Int(local.tm_min)
            return windows.contains { $0.contains(minute: minute, weekday: Int(local.tm_wday)) }
        }
    }
}
#endif
