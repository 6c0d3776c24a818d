internal import CurlewPlatform

/// The target of a monitor.
package enum ReachabilityTarget: Sendable, Hashable {
    /// The network in general.
    case everything
    case address(Destination)
    /// A name that has to be resolved.
    case host(String)

    /// An address, and its interface.
    package struct Destination: Sendable, Hashable {
        package var address: IPAddress
        /// The name or number of the interface: the text after the percent sign (RFC 4007 §11).
        package var zone: String?

        /// Nil for text that is not an address.
        init?(_ text: some StringProtocol) {
            let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = IPAddress(parts[0]) else { return nil }
            self.address = address
            guard parts.count == 2 else { return }
            guard address.isIPv6, address.isLinkLocal, !parts[1].isEmpty else { return nil }
            zone = String(parts[1])
        }

        init(_ address: IPAddress, zone: UInt32 = 0) {
            self.address = address
            self.zone = zone == 0 ? nil : String(zone)
        }
    }

    /// Addresses that represent the public network, IPv6 first. They belong to a root name server, so special routes
    /// for them are unlikely. Nothing is sent to them; they are only used in route queries.
    static let samples = [
        Destination(IPAddress(ipv6: 0x2001_0503_BA3E_0000_0000_0000_0002_0030)),
        Destination(IPAddress(ipv4: 0xC629_0004)),
    ]

    /// Parses an address or a host name.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for any other text.
    init(host text: String) throws {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        if let destination = Destination(bare) {
            self = .address(destination)
            return
        }
        let isName =
            (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || "-._".utf8.contains(byte)
            }
        guard isName else {
            throw CurlewError(
                .invalidRequest, "\"\(URIParser.printable(text))\" is neither an address nor a host's name")
        }
        self = .host(text)
    }

    init(address text: String) throws {
        guard let destination = Destination(text) else {
            throw CurlewError(.invalidRequest, "\"\(URIParser.printable(text))\" is not an IP address")
        }
        self = .address(destination)
    }
}
