internal import CLinux
internal import CurlewPlatform

/// The local end of connections, in the form of `CURLOPT_INTERFACE`: an interface, an address or a host of this
/// machine. The prefixes `if!` and `host!` choose the kind.
///
/// An interface is chosen by `SO_BINDTODEVICE`. If the system does not permit that, it is chosen by the interface's
/// address with the family and the scope of the remote address. A host is chosen by its first address of the remote
/// family.
struct LocalEnd {
    /// The reason why a socket cannot have this local end.
    enum Fault: Error {
        case unusable(String)
        case noDescriptor(Int32)
    }

    private enum Kind { case interface, host }

    private static let interfacePrefix = "if!"
    private static let hostPrefix = "host!"

    private let kind: Kind
    let name: String
    /// The addresses of a host, looked up before the first connection is made.
    var addresses: [HostAddress] = []

    init(_ text: String) {
        if let name = Self.dropping(Self.interfacePrefix, from: text) {
            (kind, self.name) = (.interface, name)
        } else if let name = Self.dropping(Self.hostPrefix, from: text) {
            (kind, self.name) = (.host, name)
        } else {
            (kind, name) = (Self.isInterface(text) ? .interface : .host, text)
        }
    }

    private static func dropping(_ prefix: String, from text: String) -> String? {
        text.utf8.starts(with: prefix.utf8) ? String(text.utf8.dropFirst(prefix.utf8.count)) : nil
    }

    private static func isInterface(_ name: String) -> Bool { !name.utf8.contains(0) && if_nametoindex(name) != 0 }

    /// True if ``addresses`` are needed.
    var isHost: Bool { kind == .host }

    /// Binds a new socket.
    func bind(_ descriptor: Int32, towards remote: HostAddress) throws(Fault) {
        guard let local = try localAddress(of: descriptor, towards: remote) else { return }
        // `connect` chooses the port, because it knows the remote address: the range of ports then suffices for more
        // connections.
        var isOn: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let status = SocketAddress.ip(local, port: 0).withSystemForm { CurlewPlatform.bind(descriptor, $0, $1) }
        guard status == 0 else { throw .unusable("\(words) cannot be used: \(describe(errno))") }
    }

    /// The error text for a host whose addresses were not found.
    func words(for failure: NameFailure) -> String {
        "\(name) is no interface, address or host of this machine: \(failure.words)"
    }

    private var words: String { kind == .interface ? "the interface \(name)" : "the local address \(name)" }

    /// - Returns: nil if the socket is bound to the interface itself.
    private func localAddress(
        of descriptor: Int32, towards remote: HostAddress
    ) throws(Fault) -> HostAddress? {
        let family = remote.ip.isIPv6 ? "IPv6" : "IPv4"
        guard kind == .interface else {
            if let address = addresses.first(where: { $0.family == remote.family }) { return address }
            throw .unusable("\(words) has no \(family) address")
        }
        guard !bindToDevice(descriptor) else { return nil }
        if let address = try InterfaceAddresses.first(of: name, towards: remote) { return address }
        throw .unusable("\(words) does not exist or has no fitting \(family) address")
    }

    /// Binds the socket to the interface. The system would truncate a longer name.
    private func bindToDevice(_ descriptor: Int32) -> Bool {
        guard (1..<Int(IF_NAMESIZE)).contains(name.utf8.count) else { return false }
        return name.withCString {
            setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, $0, socklen_t(name.utf8.count + 1)) == 0
        }
    }
}

/// The addresses of this machine's interfaces.
private enum InterfaceAddresses {
    /// The first address of an interface that has the family, the scope and any zone of the remote address.
    static func first(of interface: String, towards remote: HostAddress) throws(LocalEnd.Fault) -> HostAddress? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else {
            throw .noDescriptor(errno)
        }
        defer { freeifaddrs(list) }
        var entry = list
        while let current = entry?.pointee {
            entry = current.ifa_next
            // Interface names are compared case-insensitively, as in libcurl.
            guard let address = address(current), strcasecmp(current.ifa_name, interface) == 0 else { continue }
            let isInZone = remote.zone == 0 || address.zone == remote.zone
            if address.family == remote.family, isInZone, Scope(address.ip) == Scope(remote.ip) { return address }
        }
        return nil
    }

    private static func address(_ entry: ifaddrs) -> HostAddress? {
        guard let form = UnsafeRawPointer(entry.ifa_addr) else { return nil }
        // The size of the structure depends on its family, which is its first field.
        let isIPv6 = Int32(form.loadUnaligned(as: UInt16.self)) == AF_INET6
        let count = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        let bytes = UnsafeRawBufferPointer(start: form, count: count)
        guard case .ip(let address, _) = SocketAddress(systemForm: bytes) else { return nil }
        return address
    }

    /// The scope of an address. Every IPv4 address has the same one.
    private enum Scope {
        case node, link, site, unique, global

        init(_ ip: IPAddress) {
            guard ip.isIPv6 else {
                self = .global
                return
            }
            switch ip.bits {
            case 1: self = .node
            case _ where ip.bits >> 118 == 0xFE80 >> 6: self = .link
            case _ where ip.bits >> 118 == 0xFEC0 >> 6: self = .site
            case _ where ip.bits >> 121 == 0xFC00 >> 9: self = .unique
            default: self = .global
            }
        }
    }
}
