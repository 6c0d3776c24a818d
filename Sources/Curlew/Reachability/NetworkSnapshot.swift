/// What the kernel said about the ways to somewhere at one moment, and what follows from it.
struct NetworkSnapshot: Equatable, Sendable {
    /// A route, and the interface that it leaves by.
    struct Way: Equatable, Sendable {
        var route: NetworkRoute
        var link: NetworkLink
        var kind: InterfaceKind
        var over: InterfaceKind?
        /// Whether the destination is a link-local address, for which a link-local source will do.
        var isToLinkLocal = false
    }

    /// Whether it is about the network in general: loopback does not count then.
    var isForEverything: Bool
    /// The ways that there are, the preferred one first; what has none is left out.
    var ways: [Way] = []

    /// Not reachable unless a way can be used.
    var status: ReachabilityStatus {
        let usable = ways.filter(isUsable)
        guard let first = usable.first else { return .notReachable }
        var path = NetworkPath(interface: first.link.name, kind: first.kind, over: first.over, families: [])
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
