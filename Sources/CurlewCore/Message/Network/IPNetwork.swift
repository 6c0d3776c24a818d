/// A block of IP addresses with a common prefix (CIDR, RFC 4632).
///
/// ```swift
/// let office = try IPNetwork("10.20.0.0/16")
/// let gateway = try IPNetwork("2001:db8::1")  // one address
/// ```
public struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    let address: IPAddress
    let prefixLength: Int

    /// Parses `address/length`, or a single address, which is a block of one.
    ///
    /// Parsing is strict: IPv4 as four decimal numbers without leading zeros, IPv6 in the form of RFC 4291 §2.2 without
    /// brackets and zone, a length within the address's width, and only zero bits after it. `::ffff:10.0.0.0/104`
    /// equals `10.0.0.0/8`.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for any other text.
    public init(_ text: String) throws {
        guard let network = IPNetwork(masking: text), network.isExact(text) else {
            throw CurlewError(.invalidRequest, "\"\(URIParser.printable(text))\" is not a network such as 10.0.0.0/8")
        }
        self = network
    }

    init(_ address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = prefixLength
    }

    /// Parses a network and sets the bits after the length to zero, as most readers of `no_proxy` do.
    init?(masking text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(parts[0]) else { return nil }
        guard parts.count == 2 else {
            self.init(address, prefixLength: address.width)
            return
        }
        let digits = parts[1].utf8
        let isNumber = (1...3).contains(digits.count) && digits.allSatisfy(\.isDigit)
        guard isNumber, digits.count == 1 || digits.first != UInt8(ascii: "0"), var length = Int(parts[1]) else {
            return nil
        }
        // The length of an IPv4-mapped network includes the 96 bits before the IPv4 address.
        if parts[0].utf8.contains(.colon), !address.isIPv6 { length -= 96 }
        guard (0...address.width).contains(length) else { return nil }
        let masked = address.masked(to: length)
        self.init(
            address.isIPv6 ? IPAddress(ipv6: masked) : IPAddress(ipv4: UInt32(masked)), prefixLength: length)
    }

    /// True if the text had only zero bits after the length.
    private func isExact(_ text: String) -> Bool {
        IPAddress(text.prefix { $0 != "/" }) == address
    }

    /// True if the block contains the address. IPv4 and IPv6 blocks never contain each other's addresses, not even
    /// `::/0` and `0.0.0.0/0`.
    func contains(_ other: IPAddress) -> Bool {
        other.isIPv6 == address.isIPv6 && other.masked(to: prefixLength) == address.bits
    }

    /// True if the text is an address in the block.
    package func contains(address text: String) -> Bool { IPAddress(text).map(contains) ?? false }

    /// The canonical form of an address (RFC 5952), with an IPv4-mapped one as IPv4; nil for other text.
    package static func canonicalAddress(_ text: String) -> String? { IPAddress(text)?.description }

    public var description: String { "\(address)/\(prefixLength)" }
}

/// A network is encoded as its text.
extension IPNetwork: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
