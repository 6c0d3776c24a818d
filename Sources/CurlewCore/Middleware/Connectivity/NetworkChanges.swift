/// The status of the network, in the form that links wait for.
struct NetworkChanges: Sendable {
    /// Waits until the network can be reached again. It calls its argument once if it has to wait.
    ///
    /// It returns false at once if the network is not reported as away; it also returns false if the task is cancelled
    /// or the updates end.
    let isBack: @Sendable (_ onWait: @escaping @Sendable () -> Void) async -> Bool

    /// Waits until the network changes to a reachable one: it comes back, or is replaced by another. False if the task
    /// is cancelled or the updates end.
    let change: @Sendable () async -> Bool
}

extension NetworkChanges {
    /// An instance that only waits for the network to come back; `change` returns false.
    init(isBack: @escaping @Sendable (_ onWait: @escaping @Sendable () -> Void) async -> Bool) {
        self.init(isBack: isBack, change: { false })
    }

    /// - Parameter updates: The status of the network: the present one first, then each change.
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
    /// The result of an operation; nil if it takes longer than `limit`, or the task is cancelled. Then the operation is
    /// cancelled.
    @discardableResult
    package func first<Value: Sendable>(
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
