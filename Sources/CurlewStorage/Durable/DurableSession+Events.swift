#if Storage || Postgres
internal import Curlew

extension DurableSession {
    /// What has ended, the oldest first, and what ends from now on. What was not acknowledged is delivered again to whoever listens
    /// next, in this process or a later one.
    public var events: Events { Events(store: store, cursor: nil) }

    /// What has ended after a place, the oldest first, and what ends from now on.
    /// - Parameter cursor: The ``DurableTransfer/cursor`` of the last transfer that was dealt with; nil begins with the oldest that was not
    ///   acknowledged.
    public func events(after cursor: Cursor?) -> Events { Events(store: store, cursor: cursor) }

    /// A place among the ends of a queue's transfers.
    public struct Cursor: Sendable, Hashable, Comparable, Codable {
        let number: Int64

        init(_ number: Int64) { self.number = number }

        public init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int64.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }

        public static func < (left: Cursor, right: Cursor) -> Bool { left.number < right.number }
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

        let store: any TransferStore
        let cursor: Cursor?

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store, cursor) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let store: any TransferStore
            private var changes: AsyncStream<Void>.AsyncIterator
            private var cursor: Int64
            private var pending: ArraySlice<StoredTransfer> = []
            private var wasDrained = false

            init(_ store: any TransferStore, _ cursor: Cursor?) {
                self.store = store
                self.cursor = cursor?.number ?? 0
                changes = store.changes().makeAsyncIterator()
            }

            /// The next event; nil if the task is cancelled or the session is closed.
            /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed``.
            public mutating func next() async throws -> Event? {
                while !Task.isCancelled {
                    if pending.isEmpty { pending = try await store.ends(after: cursor, limit: 100)[...] }
                    if let transfer = pending.popFirst() {
                        cursor = transfer.ending ?? cursor
                        wasDrained = false
                        // It may have been acknowledged meanwhile.
                        guard try await store.transfer(transfer.id) != nil else { continue }
                        return .ended(DurableTransfer(transfer))
                    }
                    let isDrained = try await store.outlook(of: nil).isDrained
                    if isDrained, !wasDrained {
                        // One may have ended between the two looks.
                        pending = try await store.ends(after: cursor, limit: 100)[...]
                        guard pending.isEmpty else { continue }
                        wasDrained = true
                        return .drained
                    }
                    if !isDrained { wasDrained = false }
                    guard await changes.next(isolation: #isolation) != nil else { return nil }
                }
                return nil
            }
        }
    }
}
#endif
