#if Storage || Postgres
public import Curlew
internal import Dispatch
internal import FoundationEssentials
internal import CurlewPlatform

/// A queue of downloads and uploads that outlives the process; it needs the package's trait `Storage`, which is off by
/// default.
///
/// `enqueue` returns when the transfer is stored on the disk. Any process that runs a session with the same identifier
/// and folder performs the transfer: this process, or one after a crash, a reboot or a new release. That process adopts
/// interrupted transfers, and downloads resume from the part file. Each end is delivered to ``events`` until it is
/// acknowledged.
///
/// A session alone only stores transfers; ``run(untilDrained:)`` performs them. Several processes of a machine may open
/// or run one queue at the same time; no two of them run the same transfer.
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
    /// The client that sends the transfers, with its links (middleware), limits and credentials.
    public let http: HTTPSession
    public let options: Options
    /// The path that a damaged queue was moved to when this one was opened; nil if the queue was intact.
    public let damagedQueue: String?
    package let store: any TransferStore

    package init(store: any TransferStore, http: HTTPSession, options: Options = Options(), damagedQueue: String? = nil)
    {
        self.store = store
        self.http = http
        self.options = options
        self.damagedQueue = damagedQueue
    }

    /// Closes the queue. No ``run(untilDrained:)`` may be in progress, and none may follow.
    public func close() async throws { try await store.close() }

    // MARK: Transfers

    /// Adds a transfer. It is stored on the disk when this function returns.
    /// - Throws: ``Curlew/CurlewError`` for a request that can never be sent or must not be stored;
    ///   ``Curlew/ErrorCode/queueFailed``, ``Curlew/ErrorCode/diskFull``.
    @discardableResult
    public func enqueue(_ request: DurableTransfer.Request) async throws -> DurableTransfer.ID {
        let id = DurableTransfer.ID()
        try await store.enqueue([try Self.new(id, request)])
        return id
    }

    /// Adds all of the transfers, or none of them if it throws. A batch is much faster than single calls.
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

    /// Returns a transfer; nil if it does not exist or its end was acknowledged.
    public func transfer(_ id: DurableTransfer.ID) async throws -> DurableTransfer? {
        try await store.transfer(id).map(DurableTransfer.init)
    }

    /// Returns transfers in the order in which they were enqueued.
    /// - Parameters:
    ///   - states: The states of the returned transfers; nil means all.
    ///   - id: The last transfer of the previous page; nil begins with the first.
    ///   - limit: The maximum number of transfers.
    public func transfers(
        in states: Set<DurableTransfer.State>? = nil, after id: DurableTransfer.ID? = nil, limit: Int = 100
    ) async throws -> [DurableTransfer] {
        var number: Int64 = 0
        if let id { number = try await store.transfer(id)?.number ?? 0 }
        return try await store.list(states, after: number, limit: max(0, limit)).map(DurableTransfer.init)
    }

    /// The number of transfers in each state.
    public func counts() async throws -> [DurableTransfer.State: Int] { try await store.counts() }

    /// Stops transfers until ``resume(_:)``. The received bytes of downloads are kept.
    /// - Parameter ids: The transfers; nil means all that have not ended.
    /// - Returns: The number of transfers that are suspended, or will be as soon as their worker sees the command.
    @discardableResult
    public func suspend(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.suspend, of: ids)
    }

    /// Resumes suspended transfers; they wait for a slot again. It also retries transfers that wait for the network or
    /// the disk.
    @discardableResult
    public func resume(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.resume, of: ids)
    }

    /// Cancels transfers. The received bytes of downloads are deleted. A download whose file is just being given its
    /// name is not cancelled.
    @discardableResult
    public func cancel(_ ids: [DurableTransfer.ID]? = nil) async throws -> Int {
        try await store.command(.cancel, of: ids)
    }

    /// Removes a transfer that has ended from the queue: its event is not delivered again.
    public func acknowledge(_ id: DurableTransfer.ID) async throws {
        if let transfer = try await store.transfer(id) { await removeRemains(of: transfer) }
        try await store.acknowledge([id])
    }

    /// Removes all transfers that have ended from the queue.
    public func acknowledgeAll() async throws {
        var cursor: Int64 = 0
        while true {
            let page = try await store.ends(after: cursor, limit: 100)
            guard let last = page.last else { return }
            for transfer in page { await removeRemains(of: transfer) }
            try await store.acknowledge(page.map(\.id))
            cursor = last.ending ?? .max
        }
    }

    /// Deletes the part files of an ended transfer beside its destination.
    private func removeRemains(of transfer: StoredTransfer) async {
        guard transfer.state.hasEnded else { return }
        await PartNames(transfer, in: TransferFolders(options.folders))?.removeAll()
    }

    // MARK: Work

    /// Runs the transfers until the calling task is cancelled. Current transfers are then stopped and released, and the
    /// next run of the queue resumes them.
    /// - Parameter isUntilDrained: True to return as soon as all transfers have ended, except suspended ones.
    /// - Throws: ``Curlew/CurlewError`` if the queue fails for longer than a lease.
    public func run(untilDrained isUntilDrained: Bool = false) async throws {
        try await TransferWorker(self).run(untilDrained: isUntilDrained)
    }
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
        cursor = stored.ending.map(DurableSession.Cursor.init)
        failures = stored.failures
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
        if case .file(let file) = outcome {
            transferred = file.size
            total = file.size
        } else {
            transferred = stored.state == .finished ? stored.total ?? stored.received : stored.received
            total = stored.total
        }
    }
}
#endif
