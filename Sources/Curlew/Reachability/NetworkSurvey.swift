/// Finds out how somewhere can be reached, by asking the kernel.
///
/// The kernel's own look-up is asked rather than a copy of its tables kept: it knows rules, metrics, next hops and the
/// preferences of routers, it takes the same few system calls for a table of a million routes, and nothing has to be mended
/// when messages were lost.
final class NetworkSurvey {
    private let inquiry: NetlinkInquiry
    private let interfaces: SystemInterfaces

    init(_ open: NetlinkOpening, interfaces: SystemInterfaces) throws {
        inquiry = try NetlinkInquiry(open)
        self.interfaces = interfaces
    }

    /// How the network in general can be reached.
    func everything() throws -> ReachabilityStatus {
        try snapshot(of: ReachabilityTarget.samples, isForEverything: true).status
    }

    /// How any of these can be reached.
    func any(of destinations: [ReachabilityTarget.Destination]) throws -> ReachabilityStatus {
        try snapshot(of: destinations, isForEverything: false).status
    }

    private func snapshot(
        of destinations: [ReachabilityTarget.Destination], isForEverything: Bool
    ) throws -> NetworkSnapshot {
        inquiry.settle()
        var snapshot = NetworkSnapshot(isForEverything: isForEverything)
        for destination in destinations {
            if let way = try way(to: destination) { snapshot.ways.append(way) }
        }
        return snapshot
    }

    private func way(to destination: ReachabilityTarget.Destination) throws -> NetworkSnapshot.Way? {
        var zone: UInt32?
        if let name = destination.zone {
            zone = try UInt32(name) ?? inquiry.links().values.first { $0.name == name }?.index
            guard zone != nil else { return nil }
        }
        guard let route = try inquiry.route(to: destination.address, by: zone), route.link != 0,
            // The machine talks to itself over loopback, whichever interface the address is on.
            let link = try inquiry.link(route.fate == .kept ? 1 : route.link)
        else { return nil }
        let links = LinkKinds.standsOnOthers(link) ? try inquiry.links() : [:]
        let kinds = LinkKinds(links: links, facts: interfaces.facts)
        return NetworkSnapshot.Way(
            route: route, link: link, kind: kinds.kind(of: link),
            over: kinds.carrier(of: link), isToLinkLocal: destination.address.isLinkLocal)
    }
}
