import CLibcurl
import Testing

@testable import CurlewCore

@Suite("The number of connections to open")
struct OriginDemandTests {
    private struct Row: CustomTestStringConvertible {
        let sharing: OriginPool.Sharing
        let waiting, newcomers, pending, count, limit, wanted: Int

        var testDescription: String { "\(sharing) \(waiting) \(newcomers) \(pending) \(count) \(limit)" }
    }

    private static let rows = [
        // HTTP/1.1 needs one connection per waiting exchange, including those being opened.
        Row(sharing: .exclusive, waiting: 0, newcomers: 0, pending: 0, count: 0, limit: 64, wanted: 0),
        Row(sharing: .exclusive, waiting: 5, newcomers: 0, pending: 0, count: 0, limit: 64, wanted: 5),
        Row(sharing: .exclusive, waiting: 5, newcomers: 2, pending: 3, count: 3, limit: 64, wanted: 2),
        Row(sharing: .exclusive, waiting: 5, newcomers: 0, pending: 7, count: 7, limit: 64, wanted: 0),
        // The limit counts all connections.
        Row(sharing: .exclusive, waiting: 100, newcomers: 0, pending: 0, count: 60, limit: 64, wanted: 4),
        Row(sharing: .exclusive, waiting: 1, newcomers: 0, pending: 0, count: 64, limit: 64, wanted: 0),
        // A single connection suffices for exchanges that can share it.
        Row(sharing: .unknown, waiting: 100, newcomers: 0, pending: 0, count: 0, limit: 64, wanted: 1),
        Row(sharing: .unknown, waiting: 100, newcomers: 0, pending: 1, count: 1, limit: 64, wanted: 0),
        Row(sharing: .shared, waiting: 3, newcomers: 0, pending: 0, count: 1, limit: 64, wanted: 1),
        // An exchange that needs a new connection gets a separate one.
        Row(sharing: .shared, waiting: 3, newcomers: 2, pending: 0, count: 1, limit: 64, wanted: 3),
        Row(sharing: .shared, waiting: 2, newcomers: 2, pending: 1, count: 1, limit: 64, wanted: 1),
        Row(sharing: .shared, waiting: 1, newcomers: 1, pending: 0, count: 1, limit: 1, wanted: 0),
    ]

    @Test("connections are opened for waiting exchanges that cannot share one", arguments: rows)
    private func wanted(_ row: Row) {
        let demand = OriginDemand(
            sharing: row.sharing, waiting: row.waiting, newcomers: row.newcomers,
            dials: row.pending, pending: row.pending, count: row.count, limit: row.limit)
        #expect(demand.wanted == row.wanted)
    }

    @Test("connections in their handshakes do not serve exchanges that need a separate one")
    func handshakes() {
        func wanted(_ sharing: OriginPool.Sharing, newcomers: Int) -> Int {
            OriginDemand(
                sharing: sharing, waiting: 5, newcomers: newcomers, dials: 0, pending: 5, count: 5, limit: 64
            ).wanted
        }
        #expect(wanted(.exclusive, newcomers: 0) == 5)
        #expect(wanted(.unknown, newcomers: 2) == 2)
        #expect(wanted(.unknown, newcomers: 0) == 0)
    }

    @Test("a proxy with its own trust anchors has no folder of other anchors")
    func folders() {
        #expect(ConnectionName.folder(5, hasOwnAnchors: true) == "/dev/null/.//.")
        #expect(ConnectionName.folder(5, hasOwnAnchors: false) != ConnectionName.folder(4, hasOwnAnchors: false))
    }

    @Test("the name of each connection is a unique address")
    func names() {
        #expect(ConnectionName.address(1) == "[fd00:0:0:0:0:0:0:1]")
        #expect(ConnectionName.address(.max) == "[fd00:0:0:0:ffff:ffff:ffff:ffff]")
        #expect(ConnectionName.address(0x1_0002) == "[fd00:0:0:0:0:0:1:2]")
        #expect(ConnectionName.shortAddress(1) == "240.0.0.1")
        #expect(ConnectionName.shortAddress(.max) == "255.255.255.255")
    }

    @Test("a libcurl without IPv6 gets IPv4 addresses as connection names")
    func withoutIPv6() throws {
        let name = try ConnectionName(number: 7, proxy: nil, port: 80, family: .any, hasIPv6: false)
        guard case .target(let list) = name.place else { throw CurlewError(.engineFailed, "not a target") }
        #expect(list.head.map { String(cString: $0.pointee.data) } == "::240.0.0.7:80")
    }
}
