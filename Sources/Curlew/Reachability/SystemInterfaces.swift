internal import Glibc

/// What `/sys/class/net` says of an interface beyond what netlink does.
struct SystemInterfaces: Sendable {
    struct Facts: Equatable {
        /// Whether it says anything of this interface.
        var isKnown = false
        /// `DEVTYPE` of the interface's `uevent`: "wlan", "wwan", "bluetooth" and so on; nil for plain ones.
        var deviceType: String?
        /// Whether drivers of wireless networks have left their mark.
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
