import ArgumentParser

/// The options that describe the connection and the time.
struct ConnectionWords: ParsableArguments, Sendable {
    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects.")
    var followsRedirects = false

    @Option(
        name: [.customShort("m"), .customLong("max-time")],
        help: ArgumentHelp("The longest time for the call.", valueName: "seconds"))
    var maximumTime: Seconds?

    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp("The longest time for connecting.", valueName: "seconds"))
    var connectTime: Seconds?

    @Option(
        name: .customLong("retry"),
        help: ArgumentHelp(
            "Try again after temporary failures; a POST only if it certainly did not arrive.", valueName: "times"))
    var retries = 0

    @Flag(name: .customLong("compressed"), help: "Ask for compression, and decompress.")
    var isCompressed = false

    @Flag(name: .customLong("http1.1"), help: "Use HTTP/1.1.")
    var usesHTTP1 = false

    @Flag(name: .customLong("http2"), help: "Use HTTP/2 where the server speaks it over TLS (the default).")
    var usesHTTP2 = false

    @Flag(name: .customLong("http2-prior-knowledge"), help: "Use HTTP/2 without asking.")
    var assumesHTTP2 = false

    @Flag(
        name: .customLong("http3"),
        help: "Use HTTP/3, or an older version if that is impossible. The status is 4 if libcurl has no HTTP/3.")
    var usesHTTP3 = false

    @Flag(name: .customLong("http3-only"), help: "Use HTTP/3.")
    var usesHTTP3Alone = false

    @Option(
        name: [.customShort("x"), .customLong("proxy")], parsing: .unconditional,
        help: ArgumentHelp("The proxy; by default those of http_proxy, https_proxy, all_proxy.", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("noproxy"), parsing: .unconditional,
        help: ArgumentHelp("Hosts without a proxy; * is every host.", valueName: "hosts"))
    var noProxy: String?

    @Option(
        name: .customLong("resolve"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Addresses for a host.", valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(
        name: .customLong("connect-to"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Another host to connect to.", valueName: "host:port:host:port"))
    var connectTo: [String] = []

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use addresses of IPv4 alone.")
    var usesIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use addresses of IPv6 alone.")
    var usesIPv6 = false

    @Option(
        name: .customLong("unix-socket"), parsing: .unconditional,
        help: ArgumentHelp("A Unix socket to connect to.", valueName: "path"), completion: .file())
    var unixSocket: String?

    @Option(
        name: .customLong("cacert"), parsing: .unconditional,
        help: ArgumentHelp("The trusted authorities, in PEM.", valueName: "file"), completion: .file())
    var authorities: String?

    @Option(
        name: [.customShort("E"), .customLong("cert")], parsing: .unconditional,
        help: ArgumentHelp("The client's certificate, in PEM.", valueName: "file[:passphrase]"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("key"), parsing: .unconditional,
        help: ArgumentHelp("The key of the certificate, in PEM.", valueName: "file"), completion: .file())
    var key: String?

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Trust any server. Dangerous.")
    var isInsecure = false

    func validate() throws {
        guard [usesHTTP1, usesHTTP2, assumesHTTP2, usesHTTP3, usesHTTP3Alone].count(where: { $0 }) <= 1 else {
            throw ValidationError("The versions of HTTP exclude each other.")
        }
        guard (0...1000).contains(retries) else { throw ValidationError("--retry is 0 to 1000.") }
        guard !usesIPv4 || !usesIPv6 else { throw ValidationError("--ipv4 and --ipv6 exclude each other.") }
        guard key == nil || certificate != nil else { throw ValidationError("--key needs --cert.") }
    }
}
