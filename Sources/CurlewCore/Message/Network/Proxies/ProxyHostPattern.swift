/// An entry in a list of hosts such as `no_proxy`.
struct ProxyHostPattern: Sendable, Hashable {
    private enum Host: Hashable {
        case any
        case network(IPNetwork)
        /// The name in ASCII and lower case, without dots at its ends.
        case domain(String)
    }

    private let host: Host
    private let port: Int?

    /// Parses an entry; nil for an entry that cannot match anything.
    ///
    /// - `*`: every host.
    /// - `10.0.0.0/8`, `fe80::/10`, `127.0.0.1`, `[::1]`: addresses. They match only hosts that are written as
    ///   addresses, in any spelling; names are not resolved.
    /// - `example.com`, `.example.com`, `*.example.com`: the domain and its subdomains. An international name is
    ///   converted to its ASCII form, as in a URI.
    /// - Any of these except a block of addresses, followed by `:8080`: that port only.
    init?(_ text: some StringProtocol) {
        var name = text[...]
        var port: Int?
        if name.hasPrefix("["), let close = name.firstIndex(of: "]") {
            let rest = name[name.index(after: close)...]
            name = name[name.index(after: name.startIndex)..<close]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if !rest.isEmpty {
                guard let number = Self.port(rest.dropFirst()) else { return nil }
                port = number
            }
        } else if name.utf8.count(where: { $0 == .colon }) == 1, let colon = name.utf8.firstIndex(of: .colon) {
            guard let number = Self.port(name[name.utf8.index(after: colon)...]) else { return nil }
            port = number
            name = name[..<colon]
        }
        guard let host = Self.host(name) else { return nil }
        self.host = host
        self.port = port
    }

    private static func port(_ text: some StringProtocol) -> Int? {
        PortNumber.read(text.utf8).map(Int.init)
    }

    private static func host(_ text: some StringProtocol) -> Host? {
        if text == "*" { return .any }
        if let network = IPNetwork(masking: text) { return .network(network) }
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: "*.".utf8) { bytes.removeFirst() }
        bytes = bytes.drop { $0 == .dot }
        let isASCII = bytes.allSatisfy { $0 < 0x80 }
        let name = String(decoding: bytes, as: UTF8.self)
        guard var domain = isASCII ? name.lowercased() : InternationalName.ascii(name) else { return nil }
        if domain.utf8.last == .dot { domain.removeLast() }
        guard !domain.isEmpty, !domain.utf8.contains(.slash) else { return nil }
        return .domain(domain)
    }

    /// The entries of a list, separated by commas or spaces. Entries that cannot match anything are left out.
    static func list(_ text: String) -> [ProxyHostPattern] { entries(text).compactMap { ProxyHostPattern($0) } }

    fileprivate static func entries(_ text: String) -> [Substring] {
        text.unicodeScalars.split { $0 == "," || $0.properties.isWhitespace }.map { Substring($0) }
    }

    /// True if the entry matches a target.
    /// - Parameter address: The target's host if it is an address.
    func matches(_ uri: CurlewURI, address: IPAddress?) -> Bool {
        guard port == nil || port == uri.port else { return false }
        switch host {
        case .any: return true
        case .network(let network): return address.map(network.contains) ?? false
        case .domain(let domain):
            guard address == nil else { return false }
            var name = uri.host.lowercased()[...]
            if name.hasSuffix(".") { name = name.dropLast() }
            guard name.hasSuffix(domain) else { return false }
            let rest = name.dropLast(domain.count)
            return rest.isEmpty || rest.hasSuffix(".")
        }
    }
}

extension Proxy.Configuration {
    /// True if each entry in a list of hosts, in the form of `no_proxy`, can match something. Other entries are ignored
    /// when the list is used.
    package static func canMatch(_ exceptions: String) -> Bool {
        ProxyHostPattern.entries(exceptions).allSatisfy { ProxyHostPattern($0) != nil }
    }
}
