import ArgumentParser

/// The options that describe the request, with the names that curl gives them.
struct RequestWords: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("X"), .customLong("request")], parsing: .unconditional,
        help: ArgumentHelp("The method.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A field: 'Name: value', 'Name:' to remove one, 'Name;' for an empty one.", valueName: "field"))
    var fields: [String] = []

    @Option(
        name: [
            .customShort("d"), .customLong("data"), .customLong("data-ascii"), .customLong("data-raw"),
            .customLong("data-binary"), .customLong("data-urlencode"),
        ], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A form as the body; @FILE reads a file.", valueName: "data"))
    var data: [DataPiece] = []

    @Option(
        name: .customLong("json"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("JSON as the body; @FILE reads a file.", valueName: "json"))
    var json: [DataPiece] = []

    @Option(
        name: [.customShort("F"), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A part of a form: name=value, name=@FILE or name=<FILE.", valueName: "part"))
    var form: [FormPart] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")], parsing: .unconditional,
        help: ArgumentHelp("A file as the body, with PUT.", valueName: "file"), completion: .file())
    var uploadFile: String?

    @Flag(name: [.customShort("G"), .customLong("get")], help: "Put --data into the query, with GET.")
    var usesGet = false

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Send HEAD, and show the head.")
    var isHead = false

    @Option(
        name: [.customShort("u"), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp(
            "User and password for Basic; without a colon, the password is asked for.", valueName: "user:password"))
    var user: String?

    @Option(
        name: [.customShort("A"), .customLong("user-agent")], parsing: .unconditional,
        help: ArgumentHelp("The User-Agent.", valueName: "text"))
    var userAgent: String?

    @Option(
        name: [.customShort("e"), .customLong("referer")], parsing: .unconditional,
        help: ArgumentHelp("The Referer.", valueName: "url"))
    var referer: String?

    @Option(
        name: [.customShort("b"), .customLong("cookie")], parsing: .unconditional,
        help: ArgumentHelp("Cookies, as name=value; name=value.", valueName: "cookies"))
    var cookie: String?

    @Option(
        name: [.customShort("r"), .customLong("range")], parsing: .unconditional,
        help: ArgumentHelp("A range of bytes, such as 0-99.", valueName: "range"))
    var range: String?
}

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
        guard key == nil || certificate != nil else { throw ValidationError("--key needs --cert.") }
    }
}

/// The options of the output.
struct OutputWords: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("The file for the body; - is standard output.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "Name the file as the URL does.")
    var usesRemoteName = false

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Show the head before the body.")
    var includesHead = false

    @Option(
        name: [.customShort("D"), .customLong("dump-header")], parsing: .unconditional,
        help: ArgumentHelp("The file for the head.", valueName: "file"), completion: .file())
    var headFile: String?

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Show both heads and the connection.")
    var isVerbose = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: "Show neither progress nor errors.")
    var isSilent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Show errors in spite of --silent.")
    var showsErrors = false

    @Flag(
        name: [.customShort("f"), .customLong("fail")], help: "Fail with 22 for a status from 400 on, without the body."
    )
    var fails = false

    @Flag(name: .customLong("fail-with-body"), help: "The same, with the body.")
    var failsWithBody = false

    @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden)
    var isUnbuffered = false

    @Option(
        name: [.customShort("w"), .customLong("write-out")], parsing: .unconditional,
        help: ArgumentHelp("A text after the body, such as '%{http_code} %{time_total}\\n'.", valueName: "format"))
    var writeOut: String?

    @Flag(help: "Print events and lines of JSON as they come.")
    var events = false

    @Flag(help: "Show the times, the connection and the bytes.")
    var timing = false

    @Flag(help: "Print the curl command, and send nothing. Secrets are masked.")
    var curl = false

    @Flag(name: .customLong("show-secrets"), help: "Do not mask secrets in --curl and --verbose.")
    var showsSecrets = false

    @Option(help: "Colours: auto, always or never. NO_COLOR turns auto off.")
    var color = ColorChoice.auto

    func validate() throws {
        guard output == nil || !usesRemoteName else {
            throw ValidationError("--output and --remote-name exclude each other.")
        }
        guard !fails || !failsWithBody else { throw ValidationError("--fail and --fail-with-body exclude each other.") }
        guard !events || (output ?? "-") == "-" && !usesRemoteName else {
            throw ValidationError("--events are for standard output.")
        }
    }
}

/// The choice of colours.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case auto, always, never
}

/// A time in seconds, perhaps with a fraction.
struct Seconds: ExpressibleByArgument, Sendable, Equatable {
    var duration: Duration

    init?(argument: String) {
        guard let seconds = Double(argument), seconds > 0, seconds < 1e9 else { return nil }
        duration = .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}
