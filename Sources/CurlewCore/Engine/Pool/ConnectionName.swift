internal import CLibcurl

/// The name by which libcurl finds exactly one connection.
///
/// libcurl chooses a connection by its destination. So each connection appears to libcurl to have a destination of its
/// own: an IPv6 address of the private range (RFC 4193) that contains a number. If libcurl was built without IPv6, it
/// is an IPv4 address. No byte is sent to this address, because libcurl gets a connected socket. Host, SNI and the
/// certificate's name remain those of the URL.
///
/// - Without a proxy the address replaces the URL's host (`CURLOPT_CONNECT_TO`).
/// - With a proxy the address replaces the proxy's name (`CURLOPT_PROXY`), because libcurl would open a tunnel with
///   `CURLOPT_CONNECT_TO`.
/// - An https proxy is verified by its name. The connection name is then a spelling of the folder of certificate
///   authorities, which libcurl compares as text (`CURLOPT_PROXY_CAPATH`): each spelling denotes the same folder.
final class ConnectionName {
    enum Place {
        case target(FieldList)
        case proxy(url: String)
        case proxyFolder(String)
    }

    let place: Place

    /// - Parameters:
    ///   - family: The family in which libcurl looks names up for a SOCKS proxy; the name must belong to it.
    ///   - hasIPv6: True if libcurl accepts IPv6 addresses.
    init(
        number: UInt64, proxy: Proxy?, port: Int, family: ConnectionRoute.AddressFamily, hasIPv6: Bool = Engine.hasIPv6
    ) throws {
        switch proxy {
        case nil:
            let list = FieldList()
            try list.append(line: "::\(hasIPv6 ? Self.address(number) : Self.shortAddress(number)):\(port)")
            place = .target(list)
        case .some(let proxy) where proxy.scheme == .https:
            place = .proxyFolder(Self.folder(number, hasOwnAnchors: proxy.anchorsPEM != nil))
        case .some(let proxy):
            let isShort = !hasIPv6 || (proxy.isSOCKS && family == .ipv4)
            let address = isShort ? Self.shortAddress(number) : Self.address(number)
            place = .proxy(url: "\(proxy.scheme.rawValue)://\(address):\(proxy.port)")
        }
    }

    /// The address `fd00::` with the number in its last 64 bits.
    static func address(_ number: UInt64) -> String {
        let groups = stride(from: 48, through: 0, by: -16).map { String((number >> UInt64($0)) & 0xFFFF, radix: 16) }
        return "[fd00:0:0:0:\(groups.joined(separator: ":"))]"
    }

    /// An IPv4 address of the reserved range (RFC 1112 §4). The range has more numbers than simultaneous connections.
    static func shortAddress(_ number: UInt64) -> String {
        let bytes = stride(from: 24, through: 0, by: -8).map {
            (0xF000_0000 | number & 0x0FFF_FFFF) >> UInt64($0) & 0xFF
        }
        return bytes.map(String.init).joined(separator: ".")
    }

    /// The folder with the number in binary digits: a slash, or a slash with a dot. If the proxy has its own
    /// authorities, there is no real folder, because libcurl would trust its authorities too.
    static func folder(_ number: UInt64, hasOwnAnchors: Bool) -> String {
        let digits = String(number, radix: 2).map { $0 == "1" ? "/." : "/" }
        return (hasOwnAnchors ? "/dev/null" : Engine.authorityFolder ?? "/dev/null") + digits.joined()
    }
}
