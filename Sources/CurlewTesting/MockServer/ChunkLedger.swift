#if TestKit
internal import NIOConcurrencyHelpers

/// How a client cut the bodies of one connection's requests, noted as the bytes arrive and before they are parsed.
final class ChunkLedger: Sendable {
    struct Entry: Sendable {
        var sizes: [Int] = []
        var count = 0
    }

    private static let sizesLimit = 65_536

    private let entries = NIOLockedValueBox<[Int: Entry]>([:])

    /// Notes a chunk or a frame.
    ///
    /// - Parameters:
    ///   - size: Its bytes.
    ///   - exchange: The number of the request on the connection, from 0.
    func note(_ size: Int, exchange: Int) {
        self.entries.withLockedValue { entries in
            entries[exchange, default: Entry()].count += 1
            if entries[exchange, default: Entry()].sizes.count < Self.sizesLimit {
                entries[exchange, default: Entry()].sizes.append(size)
            }
        }
    }

    /// What was noted of a request, which is forgotten here.
    func take(exchange: Int) -> Entry {
        self.entries.withLockedValue { $0.removeValue(forKey: exchange) ?? Entry() }
    }
}
#endif
