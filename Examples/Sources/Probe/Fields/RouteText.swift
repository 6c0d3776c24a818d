internal import Curlew

/// Parses routes in the syntax of curl's options.
enum RouteText {
    /// `host:port:address,address`, like `--resolve`.
    static func override(_ text: String) throws -> ConnectionRoute.HostOverride {
        if let first = text.first, "+-*".contains(first) {
            throw LineProblem.unsupported("resolve \(first)")
        }
        let parts = split(text, at: 2)
        guard parts.count == 3, !parts[0].isEmpty, let port = port(parts[1]) else {
            throw LineProblem.unusable("resolve is not a list of host:port:address")
        }
        let addresses = parts[2].split(separator: ",").map { $0.filter { $0 != "[" && $0 != "]" } }
        return ConnectionRoute.HostOverride(host: parts[0], port: port, addresses: addresses)
    }

    /// `host:port:host:port`, like `--connect-to`. Each of the four may be empty: any host, any port, the same host,
    /// the same port.
    static func connectTo(_ text: String) throws -> ConnectTo {
        let parts = split(text, at: 3)
        guard parts.count == 4, parts[1].isEmpty || port(parts[1]) != nil, parts[3].isEmpty || port(parts[3]) != nil
        else { throw LineProblem.unusable("connect_to is not a list of host:port:host:port") }
        return ConnectTo(
            host: parts[0].isEmpty ? nil : parts[0], port: port(parts[1]),
            toHost: parts[2].isEmpty ? nil : parts[2], toPort: port(parts[3]))
    }

    private static func port(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(text).map(Int.init)
    }

    /// The parts between the first colons, not counting those inside brackets.
    private static func split(_ text: String, at limit: Int) -> [String] {
        var parts = [""]
        var isBracketed = false
        for character in text {
            if character == "[" { isBracketed = true }
            if character == "]" { isBracketed = false }
            if character == ":", !isBracketed, parts.count <= limit {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts
    }
}

/// A redirection whose empty parts are filled from the request's URL.
struct ConnectTo: Sendable, Hashable {
    var host: String?
    var port: Int?
    var toHost: String?
    var toPort: Int?

    func redirection(for uri: CurlewURI) -> ConnectionRoute.Redirection {
        ConnectionRoute.Redirection(host: host, port: port, toHost: toHost ?? uri.host, toPort: toPort ?? uri.port)
    }
}
