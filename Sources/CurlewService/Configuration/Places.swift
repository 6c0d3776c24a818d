#if Service
internal import Curlew
internal import HTTPTypes

extension Form {
    /// A base URL. A URL with user information is rejected, because the key is not secret.
    static let baseURL = ValueForm<String>("URL", "a URL of http or https without user and password") { text in
        guard !text.utf8.contains(UInt8(ascii: "@")), let uri = try? CurlewURI(text) else { return nil }
        return uri.scheme == "http" || uri.scheme == "https" ? text : nil
    }
}

extension Form {
    static let network = ValueForm<IPNetwork>("network", "a network such as 10.0.0.0/8 or 2001:db8::1") {
        try? IPNetwork($0)
    }
}

extension Form {
    static let pin = ValueForm<SecurityPolicy.Pin>("pin", "a pin: sha256/ and the Base64 of 32 bytes") {
        try? SecurityPolicy.Pin($0)
    }
}

extension Form {
    static let field = ValueForm<HTTPField>("field", "a field such as Accept-Language: en") { text in
        // Bytes are searched, because a value may begin with a combining mark.
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let name = HTTPField.Name(String(text[..<colon]))
        else { return nil }
        let value = bytes[bytes.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
        return HTTPField(name: name, value: String(decoding: value, as: UTF8.self))
    }
}

extension Form {
    /// An override as for `curl --resolve`, but with an equals sign before the address, and with a single address.
    static let hostOverride = ValueForm<ConnectionRoute.HostOverride>(
        "override", "an override such as example.com:443=192.0.2.1"
    ) { text in
        guard let (place, address) = Place.sides(of: text), let place = Place(place), let host = place.host,
            let port = place.port, !address.contains("/"), (try? IPNetwork(String(address))) != nil
        else { return nil }
        return ConnectionRoute.HostOverride(host: host, port: port, addresses: [String(address)])
    }
}

extension Form {
    /// A redirection as for `curl --connect-to`.
    static let redirection = ValueForm<ConnectionRoute.Redirection>(
        "redirection", "a redirection such as example.com:443=gateway.example.net:8443"
    ) {
        text in
        guard let (from, to) = Place.sides(of: text), let from = Place(from), let to = Place(to), let host = to.host,
            let port = to.port
        else { return nil }
        return ConnectionRoute.Redirection(host: from.host, port: from.port, toHost: host, toPort: port)
    }
}

/// A host and a port: `example.com:443`, `[::1]:80`. `*` in the place of either means any, and `*` alone means
/// any host and port.
private struct Place {
    var host: String?
    var port: Int?

    /// The two sides of the equals sign; nil unless there is exactly one.
    static func sides(of text: String) -> (Substring, Substring)? {
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        return sides.count == 2 ? (sides[0], sides[1]) : nil
    }

    init?(_ text: Substring) {
        if text == "*" { return }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let host = text[..<colon]
        let port = text[text.index(after: colon)...]
        if host != "*" {
            // The host must be valid in a URL.
            guard let uri = try? CurlewURI("http://\(host)/"), uri.host == host.lowercased() || uri.host == host else {
                return nil
            }
            self.host = String(host)
        }
        if port != "*" {
            guard let number = PortNumber.read(port.utf8) else { return nil }
            self.port = Int(number)
        }
    }
}
#endif
