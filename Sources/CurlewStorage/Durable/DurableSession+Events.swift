#if Storage || Postgres
internal import Curlew

extension DurableSession {
    /// The ends of transfers, oldest first, past and future. An end that was not acknowledged is delivered again to the
    /// next listener, in this process or a later one.
    public var events: Events { Events(store: store, cursor: nil) }

    /// The ends of transfers after a position, oldest first, past and future.
    /// - Parameter cursor: The ``DurableTransfer/cursor`` of the last processed transfer; nil begins with the oldest
    ///   unacknowledged end.
    public func events(after cursor: Cursor?) -> Events { Events(store: store, cursor: cursor) }

    /// A position among the ends of a queue's transfers.
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

    /// An event of a queue.
    public enum Event: Sendable {
        /// A transfer has ended. Acknowledge it after processing: until then it is delivered to each new listener.
        case ended(DurableTransfer)
        /// Every end was delivered, and all transfers have ended except suspended ones.
        case drained
    }

    /// The events of a queue: an endless sequence that delivers every event.
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
                        // The transfer may have been acknowledged meanwhile.
                        guard try await store.transfer(transfer.id) != nil else { continue }
                        return .ended(DurableTransfer(transfer))
                    }
                    let isDrained = try await store.outlook(of: nil).isDrained
                    if isDrained, !wasDrained {
                        // A transfer may have ended between the two queries.
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
