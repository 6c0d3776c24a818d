/// Queries to the kernel about the reachability of destinations.
///
/// The kernel's own route query is used instead of a copy of its tables. It applies rules, metrics, next hops and
/// router preferences. It takes the same few system calls for a table of a million routes, and needs no repair after
/// lost messages.
final class NetworkSurvey {
    private let inquiry: NetlinkInquiry
    private let interfaces: SystemInterfaces

    init(_ open: NetlinkOpening, interfaces: SystemInterfaces) throws {
        inquiry = try NetlinkInquiry(open)
        self.interfaces = interfaces
    }

    /// The status of the network in general.
    func everything() throws -> ReachabilityStatus {
        try snapshot(of: ReachabilityTarget.samples, isForEverything: true).status
    }

    /// The status of the first destination that can be reached.
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
            // Packets to the machine's own addresses use loopback, whichever interface has the address.
            let link = try inquiry.link(route.fate == .kept ? 1 : route.link)
        else { return nil }
        let links = LinkKinds.standsOnOthers(link) ? try inquiry.links() : [:]
        let kinds = LinkKinds(links: links, facts: interfaces.facts)
        return NetworkSnapshot.Way(
            route: route, link: link, kind: kinds.kind(of: link),
            over: kinds.carrier(of: link), isToLinkLocal: destination.address.isLinkLocal)
    }
}

/// The kernel's answers about the routes to the destinations at one time, and their evaluation.
struct NetworkSnapshot: Equatable, Sendable {
    /// A route, and the interface on which it leaves.
    struct Way: Equatable, Sendable {
        var route: NetworkRoute
        var link: NetworkLink
        var kind: ReachabilityStatus.Path.InterfaceKind
        var over: ReachabilityStatus.Path.InterfaceKind?
        /// True if the destination is link-local, so that a link-local source is sufficient.
        var isToLinkLocal = false
    }

    /// True if the snapshot describes the network in general; loopback is then ignored.
    var isForEverything: Bool
    /// The existing routes, the preferred one first.
    var ways: [Way] = []

    /// Reachable if a route is usable; else not reachable.
    var status: ReachabilityStatus {
        let usable = ways.filter(isUsable)
        guard let first = usable.first else { return .notReachable }
        var path = ReachabilityStatus.Path(interface: first.link.name, kind: first.kind, over: first.over, families: [])
        for way in usable {
            path.families.insert(way.route.isIPv6 ? .ipv6 : .ipv4)
            path.localAddresses.appendNew(way.route.source?.description)
            path.gateways.appendNew(way.route.gateway?.description)
        }
        return .reachable(path)
    }

    private func isUsable(_ way: Way) -> Bool {
        guard way.link.isRunning, let source = way.route.source else { return false }
        switch way.route.fate {
        case .refused: return false
        case .kept: return !isForEverything
        case .sent:
            if way.link.isLoopback { return !isForEverything }
            // The kernel falls back to this source for IPv6 while its other addresses are tentative. An answer would
            // never arrive.
            if source.isLoopback { return false }
            return !source.isLinkLocal || way.isToLinkLocal
        }
    }
}

extension [String] {
    /// Appends an element that is neither nil nor already in the list.
    fileprivate mutating func appendNew(_ element: String?) {
        if let element, !contains(element) { append(element) }
    }
}
