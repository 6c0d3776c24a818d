#if TestKit
internal import NIOConcurrencyHelpers

/// The piece sizes of the request bodies of one connection, recorded as the bytes arrive and before they are parsed.
final class ChunkLedger: Sendable {
    struct Entry: Sendable {
        var sizes: [Int] = []
        var count = 0
    }

    private static let sizesLimit = 65_536

    private let entries = NIOLockedValueBox<[Int: Entry]>([:])

    /// Records a chunk or a frame.
    ///
    /// - Parameters:
    ///   - size: The number of its bytes.
    ///   - exchange: The number of the request on the connection, from 0.
    func note(_ size: Int, exchange: Int) {
        self.entries.withLockedValue { entries in
            entries[exchange, default: Entry()].count += 1
            if entries[exchange, default: Entry()].sizes.count < Self.sizesLimit {
                entries[exchange, default: Entry()].sizes.append(size)
            }
        }
    }

    /// Returns and removes the record of a request.
    func take(exchange: Int) -> Entry {
        self.entries.withLockedValue { $0.removeValue(forKey: exchange) ?? Entry() }
    }
}
#endif
