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

    /// The status of the network in general.
    func everything() throws -> ReachabilityStatus {
        try snapshot(of: ReachabilityTarget.samples, isForEverything: true).status
    }

    /// The status of the first of these that can be reached.
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

/// The kernel's answers about the ways to somewhere at one moment, and what follows from them.
struct NetworkSnapshot: Equatable, Sendable {
    /// A route, and the interface that it leaves by.
    struct Way: Equatable, Sendable {
        var route: NetworkRoute
        var link: NetworkLink
        var kind: ReachabilityStatus.Path.InterfaceKind
        var over: ReachabilityStatus.Path.InterfaceKind?
        /// True if the destination is a link-local address, for which a link-local source will do.
        var isToLinkLocal = false
    }

    /// True if it is about the network in general: loopback does not count then.
    var isForEverything: Bool
    /// The ways that there are, the preferred one first; what has none is left out.
    var ways: [Way] = []

    /// Not reachable unless a way can be used.
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
            // What the kernel falls back on for IPv6 while it is not sure of any other address. No answer would come to it.
            if source.isLoopback { return false }
            return !source.isLinkLocal || way.isToLinkLocal
        }
    }
}

extension [String] {
    /// Appends what is there and not yet in the list.
    fileprivate mutating func appendNew(_ element: String?) {
        if let element, !contains(element) { append(element) }
    }
}
