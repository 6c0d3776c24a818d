/// The status of the network as links wait for it.
struct NetworkChanges: Sendable {
    /// Waits until the network can be reached again; calls its argument if there is something to wait for.
    ///
    /// False, at once, if the network is not reported to be away; and if the task is cancelled or the updates end.
    let isBack: @Sendable (_ onWait: @escaping @Sendable () -> Void) async -> Bool

    /// Waits until the network changes to one that can be reached: it comes back, or becomes another. False if the task is
    /// cancelled or the updates end.
    let change: @Sendable () async -> Bool
}

extension NetworkChanges {
    /// No more than what waits for the network to come back needs.
    init(isBack: @escaping @Sendable (_ onWait: @escaping @Sendable () -> Void) async -> Bool) {
        self.init(isBack: isBack, change: { false })
    }

    /// - Parameter updates: The status now, then each change.
    init(_ updates: some AsyncSequence<ReachabilityStatus, Never> & Sendable) {
        isBack = { onWait in
            var isAway = false
            for await status in updates {
                guard status == .notReachable else { return isAway }
                if !isAway { onWait() }
                isAway = true
            }
            return false
        }
        change = {
            var isPresent = true
            for await status in updates {
                if !isPresent, status.isReachable { return true }
                isPresent = false
            }
            return false
        }
    }
}

extension Timekeeper {
    /// What an operation brings; nil if it takes longer than `limit`, or the task is cancelled. It is cancelled then.
    @discardableResult
    func first<Value: Sendable>(
        within limit: Duration, _ operation: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await operation() }
            group.addTask {
                try? await sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
