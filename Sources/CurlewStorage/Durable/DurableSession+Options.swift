#if Storage || Postgres
public import Curlew
internal import CurlewPlatform
public import HTTPTypes

extension DurableSession {
    /// The options of a durable session.
    public struct Options: Sendable {
        /// The limits of concurrent transfers, over all processes.
        public var limits = Limits()
        /// A function that returns the secret fields of a request, such as Authorization, before each attempt.
        ///
        /// These fields are never written to the disk. They count as ``Curlew/RequestOptions/secretFields``: a redirect
        /// to another origin drops them. An error of this function is a failed attempt, which is retried.
        public var authorization: (@Sendable (DurableTransfer.Request) async throws -> HTTPFields)?
        /// The absolute paths of the folders that may contain files of transfers, at any depth; nil, the default,
        /// allows every folder.
        ///
        /// Paths are compared before each attempt, after links are resolved. A download to another folder fails with
        /// ``Curlew/ErrorCode/invalidDestination``, an upload from another folder with
        /// ``Curlew/ErrorCode/invalidRequest``. Set this property if others can write to the queue, such as that of a
        /// fleet.
        public var folders: [String]?
        /// The time after which another worker takes over a transfer whose worker is silent, such as one in a suspended
        /// process. 30 seconds by default, at least 1. A killed process is detected at once.
        public var lease: Duration = .seconds(30)
        /// The retry policy, which continues over restarts of the process.
        ///
        /// By default a transfer fails after 20 attempts, which take about two hours if the server is down; the waits
        /// double from 1 second to 10 minutes. A Retry-After of up to a day is obeyed, and a longer one is treated as a
        /// day. The total time, by default without a limit, begins when a transfer is enqueued.
        /// ``DurableTransfer/Request/attempts`` takes precedence over ``Curlew/Retry/Policy/attempts``.
        public var retries = Retry.Policy(
            attempts: 20, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(600)),
            retryAfterLimit: .seconds(86_400), totalTime: Timeouts.unlimited)
        /// The number of bytes between two checkpoints of a download; bytes after the last checkpoint are lost with the
        /// process.
        public var checkpoint: ByteSize = .mebibytes(16)
        /// The times at which transfers may run; an empty array means always.
        public var windows: [Window] = []
        /// The state of the network; nil uses a ``Curlew/ReachabilityMonitor``.
        package var network: (@Sendable () async -> ReachabilityStatus)?
        /// The clock for the windows: seconds since 1970.
        package var now: @Sendable () -> Int = { time(nil) }

        var leaseInUse: Duration { max(lease, .seconds(1)) }

        public init() {}
    }

    /// The limits of a queue.
    public struct Limits: Sendable {
        /// The maximum number of concurrent transfers. 4 by default; 0 runs none.
        public var total = 4
        /// The maximum number for one host. 2 by default.
        public var perHost = 2
        /// The maximum number for each tag, such as `["video": 1]`.
        public var perTag: [String: Int] = [:]
        /// The maximum size of the queue's files; nil means no limit.
        ///
        /// The files of current downloads count with their full size, and those of finished downloads count until they
        /// are acknowledged. A download without space waits, and a download larger than the quota fails.
        public var diskQuota: ByteSize?
        /// The free space to leave on the disk of a download. 64 MiB by default.
        public var freeSpace: ByteSize = .mebibytes(64)

        public init() {}
    }

    /// A part of the day in which transfers may run, in the machine's local time. Transfers that run at its end are
    /// stopped, and resume in the next window.
    public struct Window: Sendable, Hashable {
        /// The start in minutes since midnight. A window whose end is not after its start ends on the next day.
        public var start: Int
        public var end: Int
        /// The days on which the window starts, 0 (Sunday) to 6; all days by default.
        public var weekdays: Set<Int>

        public init(start: Int, end: Int, weekdays: Set<Int> = Set(0...6)) {
            self.start = min(max(start, 0), 1439)
            self.end = min(max(end, 0), 1440)
            self.weekdays = weekdays
        }

        /// True if the window is open at a minute of a weekday.
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
