extension ConnectionOptions {
    /// Judges what can be told of a target before a proxy is asked for it, which then connects unseen.
    ///
    /// A host that is written as an address, in whatever spelling, and `localhost` are judged. Other names are the proxy's to
    /// resolve; where libcurl resolves them for a SOCKS proxy, it shows nobody the address.
    /// - Throws: ``CurlewError`` with ``ErrorCode/addressForbidden`` or ``ErrorCode/unsupported``.
    func checkTarget(_ uri: URI) throws {
        guard judgesTargets, let proxy = values.proxy else { return }
        for host in targets(of: uri) {
            if let address = Self.address(of: host) {
                guard values.addressPolicy.permits(address) else {
                    throw CurlewError(
                        .addressForbidden, "the address policy forbids \(address) for \(host), through a proxy as well")
                }
            } else if proxy.resolvesHere {
                throw CurlewError(
                    .unsupported,
                    "with an address policy a \(proxy.scheme.rawValue) proxy is asked for addresses alone, as nobody would "
                        + "see what \(host) resolves to")
            }
        }
    }

    /// The host, and where redirections of the route may lead from it.
    private func targets(of uri: URI) -> [String] {
        let redirected = values.route.redirections.filter { redirection in
            let isHost = redirection.host.map { $0.isEmpty || $0.lowercased() == uri.host.lowercased() } ?? true
            return isHost && (redirection.port == nil || redirection.port == uri.port)
        }
        return [uri.host] + redirected.map(\.toHost)
    }

    private static func address(of host: String) -> IPAddress? {
        let name = folded(host)
        if let address = IPAddress(host: name) { return address }
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        return isLocal ? IPAddress(ipv4: 0x7F00_0001) : nil
    }

    /// In lower case, without a dot at the end, and with the wide digits, letters and dots in place of which
    /// internationalised names have the usual ones (UTS #46).
    private static func folded(_ host: String) -> String {
        var name = String(
            String.UnicodeScalarView(
                host.unicodeScalars.compactMap { scalar in
                    switch scalar.value {
                    case 0x3002, 0xFF0E, 0xFF61: "."
                    case 0xFF01...0xFF5E: Unicode.Scalar(scalar.value - 0xFEE0)
                    case 0x00AD, 0x200B, 0x2060, 0xFEFF: nil
                    default: scalar
                    }
                })
        ).lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        return name
    }
}
