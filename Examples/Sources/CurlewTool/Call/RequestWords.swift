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
