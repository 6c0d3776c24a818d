extension Retry {
    /// A limit on the load that retries add to a server: a bucket of tokens for each host.
    ///
    /// A call adds a part of a token, a fifth by default. Each retry takes one token; without a token there is no
    /// retry. So a server that fails every request gets at most 20 % more requests, instead of three times as many. A
    /// reserve that refills with time allows retries of rare requests.
    ///
    /// Copies of a link share its budget; links that are given the same budget share it. A host is the authority of the
    /// URI, including its port.
    public final class Budget: Sendable {
        private struct Bucket {
            var tokens: Double
            /// The time when the reserve was last refilled.
            var refilled: Duration
            /// The number of the last use of this bucket, for eviction.
            var lastUse: UInt64
        }

        private struct Buckets {
            var table: [String: Bucket] = [:]
            var uses: UInt64 = 0
            /// The URI of the last use and the place of its bucket. The next call usually has the same host, and needs
            /// no hash then. A change of the table's keys invalidates the place.
            var last: (uri: CurlewURI, index: Dictionary<String, Bucket>.Index)?

            mutating func index(of uri: CurlewURI) -> Dictionary<String, Bucket>.Index? {
                if let last, last.uri.begins(like: uri) { return last.index }
                guard let index = table.index(forKey: uri.authority) else { return nil }
                last = (uri, index)
                return index
            }
        }

        private let extraLoad: Double
        private let reserve: Double
        private let capacity: Double
        private let hosts: Int
        private let timekeeper: Timekeeper
        private let buckets = Guarded(Buckets())

        /// The time in which an empty reserve refills: 10 seconds.
        public static let reservePeriod = Duration.seconds(10)

        /// - Parameters:
        ///   - extraLoad: The part of a token that each call adds.
        ///   - reserve: The tokens that a host begins with, and that are refilled within ``reservePeriod``.
        ///   - capacity: The largest number of tokens of a host.
        ///   - hosts: The largest number of hosts. Beyond it the least recently used half is evicted; those hosts begin
        ///     again with the reserve.
        ///   - clock: The clock that refills the reserve.
        public init(
            extraLoad: Double = 0.2, reserve: Int = 10, capacity: Int = 100, hosts: Int = 1000,
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.extraLoad = max(0, extraLoad)
            self.reserve = Double(max(0, reserve))
            self.capacity = Double(max(0, reserve, capacity))
            self.hosts = max(1, hosts)
            timekeeper = Timekeeper(clock)
        }

        /// Counts a call.
        func deposit(for uri: CurlewURI) {
            change(uri) { $0.tokens = min(capacity, $0.tokens + extraLoad) }
        }

        /// Takes a token for a retry.
        /// - Returns: True if there was one.
        func withdraw(for uri: CurlewURI) -> Bool {
            let now = timekeeper.elapsed()
            return change(uri) { bucket in
                refill(&bucket, at: now)
                // The sum of five fifths may be slightly less than one.
                guard bucket.tokens > 0.999_999 else { return false }
                bucket.tokens -= 1
                return true
            }
        }

        /// The number of remembered hosts.
        var hostCount: Int { buckets.withLock { $0.table.count } }

        /// The lowest number of tokens of any host, after refilling the reserve; nil without hosts.
        package var lowestLevel: Double? {
            let now = timekeeper.elapsed()
            return buckets.withLock { buckets in
                buckets.table.values.map { bucket in
                    var bucket = bucket
                    refill(&bucket, at: now)
                    return bucket.tokens
                }.min()
            }
        }

        private func change<Result>(_ uri: CurlewURI, _ body: (inout Bucket) -> Result) -> Result {
            buckets.withLock { buckets in
                buckets.uses &+= 1
                if let index = buckets.index(of: uri) {
                    buckets.table.values[index].lastUse = buckets.uses
                    return body(&buckets.table.values[index])
                }
                buckets.last = nil
                if buckets.table.count >= hosts { Self.forget(&buckets.table, toKeep: hosts / 2) }
                var bucket = Bucket(tokens: reserve, refilled: .zero, lastUse: buckets.uses)
                defer { buckets.table[uri.authority] = bucket }
                return body(&bucket)
            }
        }

        private func refill(_ bucket: inout Bucket, at now: Duration) {
            if bucket.tokens < reserve {
                let refilled = (now - bucket.refilled) / Self.reservePeriod * reserve
                bucket.tokens = min(reserve, bucket.tokens + max(0, refilled))
            }
            bucket.refilled = now
        }

        private static func forget(_ table: inout [String: Bucket], toKeep count: Int) {
            let latest = table.sorted { $0.value.lastUse > $1.value.lastUse }.prefix(count)
            table = Dictionary(uniqueKeysWithValues: latest.map { ($0.key, $0.value) })
        }
    }
}
