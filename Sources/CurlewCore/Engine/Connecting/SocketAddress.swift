internal import CLinux
internal import CurlewPlatform

/// An IP address of a host, with the zone of a link-local address.
struct HostAddress: Sendable, Hashable {
    let ip: IPAddress
    /// The number of the interface (RFC 4007 §11); 0 for none.
    let zone: UInt32

    init(_ ip: IPAddress, zone: UInt32 = 0) {
        self.ip = ip
        self.zone = ip.isIPv6 ? zone : 0
    }

    /// The addresses of this machine, IPv4 first, as in libcurl.
    static let loopback = [HostAddress(IPAddress(ipv4: 0x7F00_0001)), HostAddress(IPAddress(ipv6: 1))]

    /// The address family: `AF_INET` or `AF_INET6`.
    var family: Int32 { ip.isIPv6 ? AF_INET6 : AF_INET }

    func belongs(to family: ConnectionRoute.AddressFamily) -> Bool {
        switch family {
        case .any: true
        case .ipv4: !ip.isIPv6
        case .ipv6: ip.isIPv6
        }
    }
}

extension HostAddress {
    /// The address that a host is written as, in every spelling of ``IPAddress/init(host:)`` and with an IPv6 zone.
    /// - Returns: nil for a name; a failure for a zone that this machine does not have.
    static func literal(_ host: String) -> Result<HostAddress, NameFailure>? {
        if let ip = IPAddress(host: host) { return .success(HostAddress(ip)) }
        let isBracketed = host.utf8.first == .openBracket && host.utf8.last == .closeBracket
        let text = isBracketed ? host.utf8.dropFirst().dropLast() : host.utf8[...]
        guard let sign = text.firstIndex(of: .percent), let ip = IPAddress(Substring(text[..<sign])), ip.isIPv6 else {
            return nil
        }
        var zone = text[text.index(after: sign)...]
        // A URI encodes the percent sign of a zone (RFC 6874).
        if isBracketed, zone.starts(with: "25".utf8), zone.count > 2 { zone = zone.dropFirst(2) }
        guard !zone.isEmpty, !zone.contains(0) else { return nil }
        guard let number = interfaceNumber(zone) else {
            return .failure(NameFailure(.notFound, "no interface has the name \(Substring(zone))"))
        }
        return .success(HostAddress(ip, zone: number))
    }

    /// The number of an interface, from its number or its name.
    private static func interfaceNumber(_ zone: Substring.UTF8View) -> UInt32? {
        if zone.allSatisfy(\.isDigit) { return UInt32(Substring(zone)) }
        let number = if_nametoindex(String(Substring(zone)))
        return number == 0 ? nil : number
    }
}

extension HostAddress: CustomStringConvertible {
    var description: String { zone == 0 ? "\(ip)" : "\(ip)%\(zone)" }
}

/// An address to which a socket can be connected.
enum SocketAddress: Sendable, Hashable {
    case ip(HostAddress, port: UInt16)
    /// The path of a Unix socket, without the final NUL.
    case unixSocket([UInt8])

    /// The address that a policy judges; nil for a Unix socket.
    var ip: IPAddress? {
        guard case .ip(let host, _) = self else { return nil }
        return host.ip
    }

    /// The address family: `AF_INET`, `AF_INET6` or `AF_UNIX`.
    var family: Int32 {
        guard case .ip(let host, _) = self else { return AF_UNIX }
        return host.family
    }
}

extension SocketAddress: CustomStringConvertible {
    var description: String {
        switch self {
        case .ip(let host, let port): host.ip.isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): String(decoding: path, as: UTF8.self)
        }
    }
}

// MARK: System structures

extension SocketAddress {
    /// The longest path that the system accepts.
    static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Calls `body` with the address as a `sockaddr`. A path that is too long is truncated; ``Dialler``
    /// refuses it before.
    func withSystemForm<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        switch self {
        case .ip(let host, let port) where host.ip.isIPv6: Self.pass(Self.ipv6(host, port), to: body)
        case .ip(let host, let port): Self.pass(Self.ipv4(host, port), to: body)
        case .unixSocket(let path): Self.pass(Self.unix(path), length: Self.unixLength(path), to: body)
        }
    }

    private static func ipv4(_ host: HostAddress, _ port: UInt16) -> sockaddr_in {
        var form = sockaddr_in()
        form.sin_family = sa_family_t(AF_INET)
        form.sin_port = port.bigEndian
        form.sin_addr.s_addr = UInt32(truncatingIfNeeded: host.ip.bits).bigEndian
        return form
    }

    private static func ipv6(_ host: HostAddress, _ port: UInt16) -> sockaddr_in6 {
        var form = sockaddr_in6()
        form.sin6_family = sa_family_t(AF_INET6)
        form.sin6_port = port.bigEndian
        form.sin6_scope_id = host.zone
        withUnsafeMutableBytes(of: &form.sin6_addr) { $0.copyBytes(from: host.ip.bytes) }
        return form
    }

    private static func unix(_ path: [UInt8]) -> sockaddr_un {
        var form = sockaddr_un()
        form.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &form.sun_path) { $0.copyBytes(from: path.prefix(longestPath)) }
        return form
    }

    private static func unixLength(_ path: [UInt8]) -> Int {
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        return start + min(path.count, longestPath) + 1
    }

    private static func pass<Form, Value>(
        _ form: Form, length: Int = MemoryLayout<Form>.size, to body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        withUnsafePointer(to: form) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }

    /// Reads an IP address from the bytes of a `sockaddr_in` or `sockaddr_in6`.
    init?(systemForm bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= MemoryLayout<sockaddr_in>.size else { return nil }
        // The port has the same offset in both structures.
        let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard let ip = IPAddress(bytes: bytes[4..<8]) else { return nil }
            self = .ip(HostAddress(ip), port: port)
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            guard let ip = IPAddress(bytes: bytes[8..<24]) else { return nil }
            let zone = bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self)
            self = .ip(HostAddress(ip, zone: zone), port: port)
        default: return nil
        }
    }

    /// The two ends of a connected IP socket. If the result is nil, `errno` is set.
    static func ends(of descriptor: Int32) -> (local: SocketAddress, peer: SocketAddress)? {
        guard let peer = end(of: descriptor, getpeername), let local = end(of: descriptor, getsockname) else {
            return nil
        }
        return (local, peer)
    }

    /// The local end of an IP socket.
    static func localEnd(of descriptor: Int32) -> SocketAddress? { end(of: descriptor, getsockname) }

    private typealias Inquiry = (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32

    private static func end(of descriptor: Int32, _ ask: Inquiry) -> SocketAddress? {
        var form = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &form) { bytes in
            let status = ask(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
            guard status == 0 else { return nil }
            return SocketAddress(systemForm: UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, Int(length))]))
        }
    }
}
