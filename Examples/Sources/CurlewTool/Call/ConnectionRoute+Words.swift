import ArgumentParser
import Curlew
import TerminalOutput

extension ConnectionRoute {
    /// The route of `--resolve`, `--connect-to` and `--unix-socket`.
    /// - Throws: `ValidationError`.
    init(_ words: ConnectionWords) throws {
        self.init(unixSocket: words.unixSocket)
        for text in words.resolve { try addAddresses(text) }
        for text in words.connectTo { try addRedirection(text) }
        if words.usesIPv4 { addressFamily = .ipv4 }
        if words.usesIPv6 { addressFamily = .ipv6 }
    }

    /// Adds `host:port:address[,address]`. An asterisk is any host.
    private mutating func addAddresses(_ text: String) throws {
        // curl forgets an address with a plus after a minute; a call is shorter.
        let parts = Self.parts(of: text.hasPrefix("+") ? text.dropFirst() : text[...], maximum: 3)
        guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), !parts[2].isEmpty else {
            throw ValidationError("--resolve is HOST:PORT:ADDRESS, not \(printable(text)).")
        }
        let addresses = parts[2].split(separator: ",").map(Self.withoutBrackets)
        if parts[0] == "*", let address = addresses.first {
            let host = address.contains(":") ? "[\(address)]" : address
            redirections.append(Redirection(port: port, toHost: host, toPort: port))
        } else {
            hosts.append(HostOverride(host: String(parts[0]), port: port, addresses: addresses))
        }
    }

    /// Adds `host:port:host:port`.
    private mutating func addRedirection(_ text: String) throws {
        let parts = Self.parts(of: text[...], maximum: 4)
        guard parts.count == 4, !parts[2].isEmpty, let port = Int(parts[3]), parts[1].isEmpty || Int(parts[1]) != nil
        else {
            throw ValidationError("--connect-to is HOST:PORT:HOST:PORT, not \(printable(text)).")
        }
        redirections.append(
            Redirection(
                host: parts[0].isEmpty ? nil : String(parts[0]), port: Int(parts[1]), toHost: String(parts[2]),
                toPort: port))
    }

    /// The parts between colons. Colons in brackets belong to an address of IPv6.
    private static func parts(of text: Substring, maximum: Int) -> [Substring] {
        var depth = 0
        var count = 1
        return text.split(omittingEmptySubsequences: false) { character in
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            guard character == ":", depth <= 0, count < maximum else { return false }
            count += 1
            return true
        }
    }

    private static func withoutBrackets(_ address: Substring) -> String {
        address.hasPrefix("[") && address.hasSuffix("]") ? String(address.dropFirst().dropLast()) : String(address)
    }
}
