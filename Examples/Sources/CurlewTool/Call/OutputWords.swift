import ArgumentParser

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
