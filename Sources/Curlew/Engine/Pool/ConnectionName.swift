internal import CLibcurl

/// The name by which libcurl finds exactly one connection.
///
/// libcurl chooses a connection by where it leads. So each one leads, as far as libcurl knows, to an address of its own: an IPv6
/// address of the private range (RFC 4193) that holds a number; an IPv4 address where libcurl was built without IPv6. Nothing is ever sent to it, as libcurl is given a socket that is
/// connected already. Host, SNI and the certificate's name stay those of the URL.
///
/// - Directly the address stands in place of the URL's host (`CURLOPT_CONNECT_TO`).
/// - With a proxy it stands in place of the proxy's name (`CURLOPT_PROXY`), as libcurl would make a tunnel of the other way.
/// - A proxy of https is verified by its name, so there it is the folder of the certificate authorities, which libcurl compares as
///   text (`CURLOPT_PROXY_CAPATH`): the same folder in a spelling of its own.
final class ConnectionName {
    enum Place {
        case target(FieldList)
        case proxy(url: String)
        case proxyFolder(String)
    }

    let place: Place

    /// - Parameters:
    ///   - family: The family that libcurl is to look names up in for a SOCKS proxy; the name has to belong to it.
    ///   - hasIPv6: True if libcurl takes IPv6 addresses.
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

    /// `fd00::`, and the number in the last 64 bits.
    static func address(_ number: UInt64) -> String {
        let groups = stride(from: 48, through: 0, by: -16).map { String((number >> UInt64($0)) & 0xFFFF, radix: 16) }
        return "[fd00:0:0:0:\(groups.joined(separator: ":"))]"
    }

    /// An IPv4 address of the range that nobody uses (RFC 1112 §4). As many connections do not live at a time as it has numbers.
    static func shortAddress(_ number: UInt64) -> String {
        let bytes = stride(from: 24, through: 0, by: -8).map {
            (0xF000_0000 | number & 0x0FFF_FFFF) >> UInt64($0) & 0xFF
        }
        return bytes.map(String.init).joined(separator: ".")
    }

    /// The number in binary digits: a slash, and a slash with a dot. Beside authorities of the proxy's own the folder is none, as
    /// libcurl would trust those in it as well.
    static func folder(_ number: UInt64, hasOwnAnchors: Bool) -> String {
        let digits = String(number, radix: 2).map { $0 == "1" ? "/." : "/" }
        return (hasOwnAnchors ? "/dev/null" : Engine.authorityFolder ?? "/dev/null") + digits.joined()
    }
}
