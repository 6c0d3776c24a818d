internal import CLinux
internal import Glibc

/// Tells what an interface is, from what the kernel says of it and of those beneath it.
struct LinkKinds {
    /// Every interface that there is; needed for those that stand on others alone.
    let links: [UInt32: NetworkLink]
    /// The properties of an interface in `/sys`.
    let facts: (NetworkLink) -> SystemInterfaces.Facts

    /// Bridges over bonds over VLANs: deeper than this nobody builds, and a loop ends.
    private static let depthLimit = 8
    private static let tunnels: Set<String> = [
        "tun", "wireguard", "ipip", "gre", "gretap", "ip6gre", "ip6gretap", "ip6tnl", "sit", "vti", "vti6", "xfrm",
        "ppp",
        "vxlan", "geneve", "ovpn", "erspan",
    ]
    private static let slices: Set<String> = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"]
    private static let bundles: Set<String> = ["bridge", "bond", "team"]

    /// True if the other interfaces have to be known to find its kind.
    static func standsOnOthers(_ link: NetworkLink) -> Bool {
        slices.contains(link.driver) || bundles.contains(link.driver) || isTunnel(link)
    }

    private static func isTunnel(_ link: NetworkLink) -> Bool {
        tunnels.contains(link.driver) || (link.driver.isEmpty && link.hardware == Int32(curlew_hardware_ppp))
    }

    /// The kind of an interface.
    func kind(of link: NetworkLink) -> ReachabilityStatus.Path.InterfaceKind { kind(of: link, depth: 0) }

    /// The kind of interface beneath a tunnel: the interface that it is made upon, if the kernel knows one; else the
    /// hardware, if all that runs is of one kind.
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
            // The one that might cost money goes first.
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
        // Without /sys it may as well be wireless.
        return facts.isKnown && link.hardware == Int32(curlew_hardware_ethernet) ? .wired : .other
    }
}

/// The properties of interfaces in `/sys/class/net` that netlink lacks.
struct SystemInterfaces: Sendable {
    struct Facts: Equatable {
        /// True if it says anything of this interface.
        var isKnown = false
        /// `DEVTYPE` of the interface's `uevent`: "wlan", "wwan", "bluetooth" and so on; nil for plain ones.
        var deviceType: String?
        /// True if drivers of wireless networks have left their mark.
        var isWireless = false
    }

    var root = "/sys/class/net"

    /// Nothing is known where the folder is absent, and of an interface of another namespace that has the same name.
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

    /// The first 4 KiB of a file, which is more than the kernel writes into one of these.
    private func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
