#if Storage
public import Curlew
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
public import HTTPTypes

/// A queue of downloads and uploads that outlives the process; needs the package's trait `Storage`, which is off by default.
///
/// `enqueue` returns when the transfer is on the disk. Whichever process runs a session with the same identifier and folder does it: this
/// one, or one that comes after a crash, a reboot or a new release. What was under way is adopted, and downloads resume from
/// what is on the disk. Each end is delivered to ``events`` until it is acknowledged.
///
/// A session does nothing by itself: it holds what others run, until ``run(untilDrained:)`` is called. Several processes of a
/// machine may hold or run one queue at a time; no transfer is run by two of them.
///
/// ```swift
/// let transfers = try await DurableSession(identifier: "mirror", folder: "/var/lib/example/transfers", http: http)
/// try await transfers.enqueue(.download("https://example.com/disc.iso", to: .folder("/srv/mirror")))
/// async let work: Void = transfers.run()
/// for try await event in transfers.events {
///     guard case .ended(let transfer) = event else { continue }
///     print(transfer.request.url, transfer.state)
///     try await transfers.acknowledge(transfer.id)
/// }
/// ```
public final class DurableSession: Sendable {
    /// What the transfers are sent by, with its links, limits and credentials.
    public let http: HTTPSession
    public let options: Options
    /// The path that a damaged queue was moved to when this one was opened; nil if it was not.
    public let damagedQueue: String?
    package let store: any TransferStore

    /// Opens a queue; makes it if it is not there.
    /// - Parameters:
    ///   - identifier: The name of the queue in its folder: 1 to 64 letters, digits, dots, hyphens and underscores.
    ///   - folder: The folder, on a local file system. It is made, for its owner alone, if it is not there; nobody else may write to it.
    ///   - http: What the transfers are sent by.
    ///   - options: How they are run.
    /// - Throws: ``Curlew/CurlewError``: ``Curlew/ErrorCode/queueFailed`` for a queue that cannot be used, such as one that a newer version
    ///   has made. One that is damaged is moved aside (``damagedQueue``), and a new one begun; files stay as they are.
    public convenience init(
        identifier: String, folder: String, http: HTTPSession, options: Options = Options()
    ) async throws {
        let store = try await SQLiteTransferStore.open(folder: folder, identifier: identifier)
        self.init(store: store, http: http, options: options, damagedQueue: store.movedAside)
    }

    package init(store: any TransferStore, http: HTTPSession, options: Options = Options(), damagedQueue: String? = nil)
    {
        self.store = store
        self.http = http
        self.options = options
        self.damagedQueue = damagedQueue
    }

    /// Closes the queue. Nobody may run it any more.
    public func close() async throws { try await store.close() }

    // MARK: Transfers

    /// Adds a transfer. It is on the disk when this returns.
    /// - Throws: ``Curlew/CurlewError`` for a request that can never be sent or must not be kept; ``Curlew/ErrorCode/queueFailed``,
    ///   ``Curlew/ErrorCode/diskFull``.
    @discardableResult
    public func enqueue(_ request: DurableTransfer.Request) async throws -> DurableTransfer.ID {
        let id = DurableTransfer.ID()
        try await store.enqueue([try Self.new(id, request)])
        return id
    }

    /// Adds transfers, all of them or, if it throws, none. Many at a time are added much faster than one by one.
    @discardableResult
    public func enqueue(_ requests: [DurableTransfer.Request]) async throws -> [DurableTransfer.ID] {
        let transfers = try requests.map { try Self.new(DurableTransfer.ID(), $0) }
        try await store.enqueue(transfers)
        return transfers.map(\.id)
    }

    private static func new(_ id: DurableTransfer.ID, _ request: DurableTransfer.Request) throws -> NewTransfer {
        let uri = try request.validated()
        let stored = try StoredRequest(request)
        return NewTransfer(
            id: id, host: uri.host.lowercased(), tags: request.tags, priority: request.priority,
            notBefore: stored.notBefore,
            deadline: stored.deadline, mayBeRepeated: request.mayBeRepeated,
            request: Array(try JSONEncoder().encode(stored)))
    }

    /// A transfer; nil if there is none of that name, or its end was acknowledged.
    public func transfer(_ id: DurableTransfer.ID) async throws -> DurableTransfer? {
        try await store.transfer(id).map(DurableTransfer.init)
    }

    /// Transfers in the order in which they were enqueued.
    /// - Parameters:
    ///   - states: Those in these states; nil are all.
    ///   - id: The last one of the page before; nil begins with the first.
    ///   - limit: The most that are returned.
    public func transfers(
        in states: Set<DurableTransfer.State>? = nil, after id: DurableTransfer.ID? = nil, limit: Int = 100
    ) async throws -> [DurableTransfer] {
        var number: Int64 = 0
        if let id { number = try await store.transfer(id)?.number ?? 0 }
        return try await store.list(states, after: number, limit: max(0, limit)).map(DurableTransfer.init)
    }

    /// The number of transfers in each state.
    public func counts() async throws -> [DurableTransfer.State: Int] { try await store.counts() }

    /// Stops transfers until ``resume(_:)``. What downloads have is kept.
    /// - Parameter ids: Which; nil are all that have not ended.
    /// - Returns: How many are suspended, or will be as soon as their worker sees it.
    @discardableResult
    public func suspend(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.suspend, of: ids)
    }

    /// Lets transfers that are suspended wait for their turns again.
    @discardableResult
    public func resume(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.resume, of: ids)
    }

    /// Ends transfers. What downloads have is removed. One whose file gets its name at this moment is not cancelled.
    @discardableResult
    public func cancel(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.cancel, of: ids)
    }

    /// Forgets a transfer that has ended: its event is not delivered again.
    public func acknowledge(_ id: DurableTransfer.ID) async throws {
        if let transfer = try await store.transfer(id) { await Self.removeRemains(of: transfer) }
        try await store.acknowledge([id])
    }

    /// Forgets all transfers that have ended.
    public func acknowledgeAll() async throws {
        var cursor: Int64 = 0
        while true {
            let page = try await store.ends(after: cursor, limit: 100)
            guard let last = page.last else { return }
            for (_, transfer) in page { await Self.removeRemains(of: transfer) }
            try await store.acknowledge(page.map(\.transfer.id))
            cursor = last.cursor
        }
    }

    /// Removes what a download that failed or was cancelled has left beside its destination.
    static func removeRemains(of transfer: StoredTransfer) async {
        guard transfer.state == .failed || transfer.state == .cancelled else { return }
        if let token = transfer.token.flatMap({ try? JSONDecoder().decode(ResumeToken.self, from: Data($0)) }) {
            await token.discard()
        }
        await PartNames(transfer)?.removeAll()
    }

    // MARK: Work

    /// Runs the transfers, until the calling task is cancelled. What is under way then is stopped and given back, and whoever runs the queue
    /// next resumes it.
    /// - Parameter isUntilDrained: Whether it returns as soon as no transfer is left that has not ended; those that are suspended do not
    ///   count.
    /// - Throws: ``Curlew/CurlewError`` if the queue fails for longer than a lease.
    public func run(untilDrained isUntilDrained: Bool = false) async throws {
        try await TransferWorker(self).run(untilDrained: isUntilDrained)
    }

    // MARK: Events

    /// What has ended, the oldest first, and what ends from now on. What was not acknowledged is delivered again to whoever listens
    /// next, in this process or a later one.
    public var events: Events { Events(store: store) }
}

extension DurableTransfer {
    init(_ stored: StoredTransfer) {
        id = stored.id
        let decoder = JSONDecoder()
        request =
            (try? decoder.decode(StoredRequest.self, from: Data(stored.request)))?.request
            ?? .download("", to: .file(""))
        state = stored.state
        enqueued = Date(milliseconds: stored.enqueued)
        failures = stored.failures
        transferred = stored.received
        total = stored.total
        nextAttempt = stored.due.map { Date(milliseconds: $0) }
        let failure = stored.result.flatMap { try? decoder.decode(StoredFailure.self, from: Data($0)) }?.error
        lastError = failure
        switch stored.state {
        case .finished:
            outcome = stored.result.flatMap { try? decoder.decode(StoredResult.self, from: Data($0)) }?.outcome
        case .failed: outcome = .failed(failure ?? CurlewError(.queueFailed, "the reason was lost"))
        case .cancelled: outcome = .cancelled
        default: outcome = nil
        }
    }
}

extension DurableSession {
    /// How transfers are run.
    public struct Options: Sendable {
        /// The most transfers at a time, of all processes.
        public var limits = Limits()
        /// Yields the secret fields of a request, such as Authorization, before each attempt. They are never on the disk. What it throws is
        /// a failed attempt, which is repeated.
        public var authorization: (@Sendable (DurableTransfer.Request) async throws -> HTTPFields)?
        /// The time after which another worker takes a transfer whose worker has not been heard of: a process that stands
        /// still. One that was killed is known at once. 30 seconds by default, 1 at least.
        public var lease: Duration = .seconds(30)
        /// The wait after an attempt that has failed, over restarts. Up to 1 second after the first, doubling up to 10 minutes.
        public var backoff = Retry.Backoff(base: .seconds(1), maximum: .seconds(600))
        /// The longest Retry-After that is waited for; one that is longer counts as this. A day by default.
        public var retryAfterLimit: Duration = .seconds(86_400)
        /// The number of bytes between two of a download's checkpoints; what came since the last is lost with the process.
        public var checkpoint: ByteSize = .mebibytes(16)
        /// When transfers may run; none is always.
        public var windows: [Window] = []
        /// The state of the network; nil is that of a ``Curlew/ReachabilityMonitor``.
        package var network: (@Sendable () async -> ReachabilityStatus)?

        public init() {}
    }

    /// Limits of a queue.
    public struct Limits: Sendable {
        /// The most transfers that run at a time. 4 by default.
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

        static func isOpen(_ windows: [Window]) -> Bool {
            guard !windows.isEmpty else { return true }
            var seconds = time(nil)
            var local = tm()
            guard localtime_r(&seconds, &local) != nil else { return true }
            let minute = Int(local.tm_hour) * 60 + Int(local.tm_min)
            return windows.contains { $0.contains(minute: minute, weekday: Int(local.tm_wday)) }
        }
    }

    /// Something that has happened to a queue.
    public enum Event: Sendable {
        /// A transfer has ended. Acknowledge it once it is dealt with: until then it is delivered to each new listener.
        case ended(DurableTransfer)
        /// Every end was delivered, and no transfer is left that has not ended, but those that are suspended.
        case drained
    }

    /// The events of a queue: an endless sequence, whose listener misses nothing.
    public struct Events: AsyncSequence, Sendable {
        public typealias Element = Event
        public typealias Failure = any Error

        private let store: any TransferStore

        init(store: any TransferStore) { self.store = store }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let store: any TransferStore
            private var changes: AsyncStream<Void>.AsyncIterator
            private var cursor: Int64 = 0
            private var pending: [(cursor: Int64, transfer: StoredTransfer)] = []
            private var wasDrained = false

            init(_ store: any TransferStore) {
                self.store = store
                changes = store.changes().makeAsyncIterator()
            }

            /// The next event; nil if the task is cancelled or the session is closed.
            /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed``.
            public mutating func next() async throws -> Event? {
                while true {
                    if pending.isEmpty { pending = try await store.ends(after: cursor, limit: 100) }
                    if !pending.isEmpty {
                        let (cursor, transfer) = pending.removeFirst()
                        self.cursor = cursor
                        wasDrained = false
                        // It may have been acknowledged meanwhile.
                        guard try await store.transfer(transfer.id) != nil else { continue }
                        return .ended(DurableTransfer(transfer))
                    }
                    let isDrained = try await store.outlook().active == 0
                    if isDrained, !wasDrained {
                        // One may have ended between the two looks.
                        pending = try await store.ends(after: cursor, limit: 100)
                        guard pending.isEmpty else { continue }
                        wasDrained = true
                        return .drained
                    }
                    if !isDrained { wasDrained = false }
                    guard await changes.next(isolation: #isolation) != nil else { return nil }
                }
            }
        }
    }
}
#endif
