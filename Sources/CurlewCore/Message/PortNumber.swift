/// The port of an authority, a proxy, an exception or an alternative (RFC 3986 §3.2.3).
package enum PortNumber {
    /// The valid ports of a server. 0 is reserved (RFC 6335 §6): the system interprets it as any port.
    package static let valid = 1...65_535

    /// The port that digits denote; leading zeros are ignored. nil for any other text, an empty one included.
    package static func read(_ digits: some Collection<UInt8>) -> UInt16? {
        guard digits.allSatisfy(\.isDigit) else { return nil }
        let significant = digits.drop { $0 == UInt8(ascii: "0") }
        guard 1...5 ~= significant.count else { return nil }
        return UInt16(exactly: significant.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }
}
