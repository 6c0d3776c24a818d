#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials

/// A worker that runs the transfers of a queue, possibly beside other workers.
actor TransferWorker {
    private struct Active {
        let run: TransferRun
        let task: Task<Void, Never>
    }

    private let session: DurableSession
    private let id = TransferWorkerID()
    private let store: any TransferStore
    private let lease: Duration
    private var active: [TransferClaim.Key: Active] = [:]
    private var lastRenewal: ContinuousClock.Instant?
    private let signal: AsyncStream<Void>.Continuation
    private let signals: AsyncStream<Void>
    private var timer: Task<Void, Never>?

    init(_ session: DurableSession) {
        self.session = session
        store = session.store
        lease = session.options.leaseInUse
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func run(untilDrained isUntilDrained: Bool) async throws {
        let following = Task { [store, signal] in for await _ in store.changes() { signal.yield() } }
        let network = followNetwork()
        let result: Result<Void, any Error>
        do {
            try await work(isUntilDrained)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        following.cancel()
        network?.cancel()
        timer?.cancel()
        // All current transfers are released, however the work ended.
        for entry in active.values { entry.run.stop(.shutdown) }
        for entry in active.values { await entry.task.value }
        await store.resign(id)
        try result.get()
    }

    /// Performs steps until the end. Consecutive failures of the store are tolerated for the length of a lease, or for
    /// the store's own ``TransferStore/patience``.
    private func work(_ isUntilDrained: Bool) async throws {
        var firstFailure: ContinuousClock.Instant?
        signal.yield()
        for await _ in signals {
            if Task.isCancelled { return }
            do {
                let outlook = try await step()
                firstFailure = nil
                if isUntilDrained, active.isEmpty, outlook.isDrained { return }
                schedule(outlook)
            } catch {
                let start = firstFailure ?? .now
                firstFailure = start
                if start.duration(to: .now) > max(lease, store.patience ?? .zero) {
                    for entry in active.values { entry.run.stop(.lost) }
                    throw error
                }
                schedule(after: .milliseconds(200))
            }
        }
    }

    private func step() async throws -> TransferOutlook {
        var outlook = try await store.outlook(of: id)
        // A transfer may have been cancelled or suspended.
        let isDue = lastRenewal.map { $0.duration(to: .now) >= interval } ?? true
        if outlook.own != active.count || (isDue && !active.isEmpty) {
            try await renew()
        }
        let isOpen = DurableSession.Window.isOpen(session.options.windows, at: session.options.now())
        if !isOpen { for entry in active.values { entry.run.stop(.shutdown) } }
        let limits = session.options.limits
        let places = isOpen ? max(0, limits.total - active.count) : 0
        // A claim also detects workers that are gone and deadlines that have passed.
        let isWorth =
            (outlook.isReady && places > 0) || (store.seesGoneWorkers && outlook.running > active.count)
            || outlook.wait.map { $0 <= .zero } ?? false
        if isWorth {
            let policy = ClaimPolicy(
                lease: lease, total: max(0, limits.total), perHost: max(1, limits.perHost), perTag: limits.perTag)
            for claim in try await store.claim(id, policy: policy, atMost: places) { start(claim) }
            outlook = try await store.outlook(of: id)
        }
        return outlook
    }

    /// The interval between two renewals, which record the progress.
    private var interval: Duration { min(lease / 3, .seconds(1)) }

    private func renew() async throws {
        lastRenewal = .now
        let progress = active.mapValues { $0.run.progress }
        let orders = try await store.renew(id, lease: lease, progress: progress)
        for (key, entry) in active where progress[key] != nil {
            switch orders[key] {
            case .proceed: break
            case .suspend: entry.run.stop(.suspension)
            case nil: entry.run.stop(.lost)
            }
        }
    }

    private func start(_ claim: TransferClaim) {
        let run = TransferRun(claim, session)
        // An earlier run of the same transfer, which lost its claim, may still be finishing.
        let earlier = active.filter { $0.key.id == claim.key.id }.map(\.value.task)
        let task = CallScope.outside {
            Task {
                for task in earlier { await task.value }
                await run.perform()
                self.end(claim.key)
            }
        }
        active[claim.key] = Active(run: run, task: task)
    }

    private func end(_ key: TransferClaim.Key) {
        active[key] = nil
        signal.yield()
    }

    // MARK: Time

    private func schedule(_ outlook: TransferOutlook) {
        var wait = active.isEmpty ? Duration.seconds(60) : interval
        if let next = outlook.wait { wait = min(wait, max(next, .milliseconds(20))) }
        if !session.options.windows.isEmpty { wait = min(wait, .seconds(10)) }
        // The end of another worker's process causes no notification, so its transfers are polled.
        if outlook.running > active.count { wait = min(wait, interval) }
        schedule(after: wait)
    }

    private func schedule(after wait: Duration) {
        timer?.cancel()
        timer = Task { [signal] in
            try? await Task.sleep(for: wait)
            if !Task.isCancelled { signal.yield() }
        }
    }

    // MARK: Network

    private func followNetwork() -> Task<Void, Never>? {
        guard session.options.network == nil, let monitor = try? ReachabilityMonitor() else { return nil }
        return Task { [store] in
            for await status in monitor.updates where status.isReachable { try? await store.wakeAfterNetwork() }
        }
    }
}
#endif
