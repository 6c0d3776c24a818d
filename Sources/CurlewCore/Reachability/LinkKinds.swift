internal import CLinux
internal import CurlewPlatform

/// The rules for the kind of an interface, from its properties and those of the interfaces beneath it.
struct LinkKinds {
    /// All interfaces; needed only for an interface that is built on others.
    let links: [UInt32: NetworkLink]
    /// The properties of an interface in `/sys`.
    let facts: (NetworkLink) -> SystemInterfaces.Facts

    /// The largest depth of stacked interfaces, such as a bridge over a bond over a VLAN. It also ends a loop.
    private static let depthLimit = 8
    private static let tunnels: Set<String> = [
        "tun", "wireguard", "ipip", "gre", "gretap", "ip6gre", "ip6gretap", "ip6tnl", "sit", "vti", "vti6", "xfrm",
        "ppp",
        "vxlan", "geneve", "ovpn", "erspan",
    ]
    private static let slices: Set<String> = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"]
    private static let bundles: Set<String> = ["bridge", "bond", "team"]

    /// True if the kind of the interface depends on other interfaces.
    static func standsOnOthers(_ link: NetworkLink) -> Bool {
        slices.contains(link.driver) || bundles.contains(link.driver) || isTunnel(link)
    }

    private static func isTunnel(_ link: NetworkLink) -> Bool {
        tunnels.contains(link.driver) || (link.driver.isEmpty && link.hardware == Int32(curlew_hardware_ppp))
    }

    /// The kind of an interface.
    func kind(of link: NetworkLink) -> ReachabilityStatus.Path.InterfaceKind { kind(of: link, depth: 0) }

    /// The kind of the interface beneath a tunnel: that of its lower interface, if the kernel reports one; else that of
    /// the hardware, if all running interfaces are of one kind.
    func carrier(of link: NetworkLink) -> ReachabilityStatus.Path.InterfaceKind? {
        guard Self.isTunnel(link) else { return nil }
        if let lower = link.lower, let beneath = links[lower] { return kind(of: beneath) }
        let carriers: Set<ReachabilityStatus.Path.InterfaceKind> = [.wired, .wifi, .cellular]
        let running = links.values.filter { $0.isRunning && !Self.standsOnOthers($0) }
        let kinds = Set(running.map(kind(of:))).intersection(carriers)
        return kinds.count == 1 ? kinds.first : nil
    }

    private func kind(of link: NetworkLink, depth: Int) -> ReachabilityStatus.Path.InterfaceKind {
        guard depth < Self.depthLimit else { return .other }
        if link.isLoopback { return .loopback }
        if Self.slices.contains(link.driver) {
            return link.lower.flatMap { links[$0] }.map { kind(of: $0, depth: depth + 1) } ?? .other
        }
        if Self.bundles.contains(link.driver) {
            let parts = links.values.filter { $0.master == link.index }
            let kinds = parts.filter(\.isRunning).map { kind(of: $0, depth: depth + 1) }
            // An interface that may cost money has priority.
            return [.cellular, .wifi, .wired].first(where: kinds.contains) ?? .other
        }
        switch link.driver {
        case "veth": return .wired
        case "wwan", "rmnet": return .cellular
        case "": return hardwareKind(of: link)
        default: return .other
        }
    }

    private func hardwareKind(of link: NetworkLink) -> ReachabilityStatus.Path.InterfaceKind {
        switch link.hardware {
        case Int32(curlew_hardware_ieee80211), Int32(curlew_hardware_ieee80211_prism),
            Int32(curlew_hardware_ieee80211_radiotap):
            return .wifi
        case Int32(curlew_hardware_ppp): return .other
        default: break
        }
        let facts = facts(link)
        switch facts.deviceType {
        case "wlan": return .wifi
        case "wwan": return .cellular
        case nil: break
        default: return .other
        }
        if facts.isWireless { return .wifi }
        // Without /sys, an Ethernet interface may be wireless.
        return facts.isKnown && link.hardware == Int32(curlew_hardware_ethernet) ? .wired : .other
    }
}

/// The properties of interfaces in `/sys/class/net` that netlink lacks.
struct SystemInterfaces: Sendable {
    struct Facts: Equatable {
        /// True if `/sys` has data for the interface.
        var isKnown = false
        /// `DEVTYPE` in the interface's `uevent`, such as "wlan", "wwan" or "bluetooth"; nil for plain interfaces.
        var deviceType: String?
        /// True if `/sys` has the marks of a wireless driver.
        var isWireless = false
    }

    var root = "/sys/class/net"

    /// Unknown if the folder is missing, or belongs to an interface of another namespace with the same name.
    func facts(_ link: NetworkLink) -> Facts {
        let folder = "\(root)/\(link.name)"
        guard let number = read("\(folder)/ifindex"), UInt32(number.prefix(while: \.isNumber)) == link.index else {
            return Facts()
        }
        var facts = Facts(isKnown: true)
        for line in (read("\(folder)/uevent") ?? "").split(separator: "\n") where line.hasPrefix("DEVTYPE=") {
            facts.deviceType = String(line.dropFirst("DEVTYPE=".count))
        }
        facts.isWireless = exists("\(folder)/wireless") || exists("\(folder)/phy80211")
        return facts
    }

    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The first 4 KiB of a file; the kernel writes less into these files.
    private func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = CurlewPlatform.read(descriptor, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
