#if Service
internal import Curlew

extension SettingsTable {
    /// The keys of routes, addresses, proxies, the HTTP version, and the User-Agent.
    static let network: [SettingsEntry] = [
        SettingsEntry(
            "http-version", \.settings.session.versionPolicy,
            Form.choice([
                "negotiated": HTTPVersionPolicy.negotiated, "http1.1": .http11,
                "http2-prior-knowledge": .http2PriorKnowledge, "http3": .http3, "http3-only": .http3Only,
            ]), "The versions of HTTP that are used"),
        SettingsEntry(
            "user-agent", \.settings.session.userAgent, Form.text.or("none"), standard: "program and Curlew's version",
            "The User-Agent of requests"),
        SettingsEntry(
            "route.unix-socket", \.settings.session.route.unixSocket, Form.path.optional,
            "The Unix socket to connect to instead of host and port"),
        SettingsEntry(
            "route.interface", \.settings.session.route.localInterface, Form.text.optional,
            "The interface or address to connect from"),
        SettingsEntry(
            "route.address-family", \.settings.session.route.addressFamily,
            Form.choice(["any": ConnectionRoute.AddressFamily.any, "ipv4": .ipv4, "ipv6": .ipv6]),
            "The kind of addresses that are used"),
        SettingsEntry(
            "route.hosts", \.settings.session.route.hosts,
            Form.hostOverride.list("list of `host:port=address`", "overrides such as example.com:443=192.0.2.1"),
            "Addresses of hosts, as `curl --resolve`"),
        SettingsEntry(
            "route.redirections", \.settings.session.route.redirections,
            Form.redirection.list(
                "list of `host:port=host:port`", "redirections such as example.com:443=gateway.example.net:8443"),
            "Other places to connect to, as `curl --connect-to`; `*` is any host or port"),
        SettingsEntry(
            "address-policy.base", \.addresses.base,
            Form.choice(["any": SettingsDraft.Addresses.Base.any, "public-only": .publicOnly, "only": .only]).optional,
            "A new policy: the addresses that may be connected to; `only` is those of `address-policy.allow`"),
        SettingsEntry(
            "address-policy.allow", \.addresses.allowed,
            Form.network.list("list of networks", "networks such as 10.0.0.0/8"), "Networks that may be connected to"),
        SettingsEntry(
            "address-policy.deny", \.addresses.denied,
            Form.network.list("list of networks", "networks such as 10.0.0.0/8"),
            "Networks that may not be connected to"),
        SettingsEntry(
            "address-policy.ports", \.addresses.ports,
            Form.count(1...65_535).list("list of ports", "ports such as 443,8443"),
            "Ports that a URL may have"),
        SettingsEntry(
            "address-policy.https-only", \.addresses.requiresHTTPS, Form.flag, "True if URLs of http are refused"),
        SettingsEntry(
            "address-policy.unix-sockets", \.addresses.allowsUnixSockets, Form.flag, "True if Unix sockets may be used"),
        SettingsEntry(
            "proxy.url", \.proxy.kind, Form.proxy.optional, secret: true, standard: "none",
            "The proxy, or those of the environment; it may hold user and password"),
        SettingsEntry("proxy.user", \.proxy.user, Form.text.optional, "The user's name for the proxy"),
        SettingsEntry(
            "proxy.password", \.proxy.password, Form.text.optional, secret: true, "The password for the proxy"),
        SettingsEntry(
            "proxy.authentication", \.proxy.authentication,
            Form.choice(["basic": Proxy.Authentication.basic, "digest": .digest, "negotiate": .negotiate]).optional,
            standard: "basic", "The way in which credentials are given to the proxy"),
        SettingsEntry(
            "proxy.exceptions", \.proxy.exceptions,
            Form.exception.list("list of hosts", "hosts as in no_proxy, such as .example.com, 10.0.0.0/8 or [::1]:80"),
            "Hosts that are connected to without a proxy"),
        SettingsEntry(
            "proxy.anchors-file", \.proxy.anchorsFile, Form.path.optional,
            "The certificate authorities, in PEM, of a proxy of https"),
    ]

    /// The keys of TLS. None of them weakens the verification of the server.
    static let trust: [SettingsEntry] = [
        SettingsEntry(
            "security.anchors-file", \.trust.anchorsFile, Form.path.optional,
            "The only certificate authorities, PEM or DER, instead of the system's"),
        SettingsEntry(
            "security.certificate-file", \.trust.certificateFile, Form.path.optional,
            "The client's certificate and its intermediates, PEM"),
        SettingsEntry(
            "security.key-file", \.trust.keyFile, Form.path.optional, standard: "that of the certificate",
            "The client's key, PEM"),
        SettingsEntry(
            "security.key-passphrase", \.trust.keyPassphrase, Form.text.optional, secret: true,
            "The passphrase of the client's key"),
        SettingsEntry(
            "security.reload-interval", \.trust.reloadInterval, Form.duration().or("never"),
            "The time between two checks for changes of the files of certificates and key"),
        SettingsEntry(
            "security.pins", \.trust.pins, Form.pin.list("list of pins", "pins: sha256/ and the Base64 of 32 bytes"),
            "Public keys, one of which has to be in the server's chain"),
        SettingsEntry(
            "security.backup-pins", \.trust.backupPins,
            Form.pin.list("list of pins", "pins: sha256/ and the Base64 of 32 bytes"), "Public keys in reserve"),
        SettingsEntry(
            "security.minimum-tls-version", \.settings.session.security.minimumTLSVersion, tlsVersion,
            "The lowest version of TLS"),
        SettingsEntry(
            "security.maximum-tls-version", \.settings.session.security.maximumTLSVersion, tlsVersion,
            "The highest version of TLS"),
        SettingsEntry(
            "security.ciphers", \.settings.session.security.ciphers, Form.text.optional,
            "Ciphers for TLS 1.2, as OpenSSL's"),
        SettingsEntry(
            "security.cipher-suites", \.settings.session.security.cipherSuites, Form.text.optional,
            "Cipher suites for TLS 1.3"),
        SettingsEntry(
            "security.groups", \.settings.session.security.groups, Form.text.optional, "Groups for the exchange of keys"
        ),
        SettingsEntry(
            "security.strict", \.settings.session.security.isStrict, Form.flag,
            "True if paths have to obey all rules of RFC 5280"),
        SettingsEntry(
            "security.revocation-files", \.trust.revocationFiles,
            Form.path.list("list of paths", "paths of files"), "Lists of revoked certificates, PEM or DER"),
        SettingsEntry(
            "security.revocation-scope", \.trust.revocationScope,
            Form.choice(["leaf": SecurityPolicy.RevocationLists.Scope.leaf, "chain": .chain]).optional,
            standard: "leaf",
            "The certificates for which there has to be a list"),
        SettingsEntry(
            "security.stapling", \.settings.session.security.stapling,
            Form.choice(["off": SecurityPolicy.Stapling.off, "if-present": .ifPresent, "required": .required]),
            "The treatment of stapled responses about revocation"),
    ]

    private static let tlsVersion = Form.choice(["1.2": SecurityPolicy.TLSVersion.tls12, "1.3": .tls13])
}
#endif
