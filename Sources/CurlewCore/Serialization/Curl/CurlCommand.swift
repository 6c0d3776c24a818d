internal import FoundationEssentials
internal import HTTPTypes

/// Composes the command.
private struct CurlCommand {
    private let request: CurlewRequest
    private let masksSecrets: Bool
    private var words = ["curl"]
    /// The methods that send a length of zero when they have no content (RFC 9110 §8.6).
    private static let methodsWithContent: Set<HTTPRequest.Method> = [.post, .put, .patch, .query]
    private var prefix = ""

    init(_ request: CurlewRequest, masksSecrets: Bool) {
        self.request = request
        self.masksSecrets = masksSecrets
        appendMethod()
        appendOptions()
        appendRoute()
        appendFields()
        appendBody()
        appendTarget()
    }

    var text: String { prefix + words.joined(separator: " ") }

    private mutating func append(_ option: String, _ value: String? = nil) {
        words.append(option)
        if let value { words.append(ShellWord.quoted(value)) }
    }

    private mutating func appendMethod() {
        switch request.method {
        case .get where request.body.isNone: break
        case .head: append("--head")
        default: append("--request", request.method.rawValue)
        }
    }

    private mutating func appendOptions() {
        switch request.options.versionPolicy?.kind {
        // Without TLS there is no negotiation, and curl would ask for an upgrade.
        case .negotiated: append(request.uri.layout.isSecure ? "--http2" : "--http1.1")
        case .http11: append("--http1.1")
        case .http2PriorKnowledge: append("--http2-prior-knowledge")
        case .http3: append("--http3")
        case .http3Only: append("--http3-only")
        case nil: break
        }
        append("--connect-timeout", request.options.connectTimeout)
        append("--max-time", request.options.totalTimeout)
        append("--expect100-timeout", request.options.expectContinue)
    }

    private mutating func append(_ option: String, _ duration: Duration?) {
        guard let duration, duration > .zero, !duration.isUnlimited else { return }
        let (seconds, attoseconds) = duration.components
        let milliseconds = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let number = ParameterValue.Number(Double(seconds) + Double(milliseconds) / 1000)
        append(option, number.description)
    }

    private mutating func appendRoute() {
        guard let route = request.options.route else { return }
        for override in route.hosts {
            append("--resolve", "\(override.host):\(override.port):\(override.addresses.joined(separator: ","))")
        }
        for redirection in route.redirections {
            let port = redirection.port.map(String.init) ?? ""
            append("--connect-to", "\(redirection.host ?? ""):\(port):\(redirection.toHost):\(redirection.toPort)")
        }
        if let path = route.unixSocket { append("--unix-socket", path) }
        if let interface = route.localInterface { append("--interface", interface) }
        switch route.addressFamily {
        case .any: break
        case .ipv4: append("--ipv4")
        case .ipv6: append("--ipv6")
        }
    }

    private mutating func appendFields() {
        for field in request.fields where field.name != .contentLength {
            let value = masksSecrets ? SecretFields.masked(field, marked: request.options.secretFields) : field.value
            // curl removes a field without a value, unless a semicolon follows its name.
            let line = value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)"
            append("--header", Self.printable(line))
        }
        if !request.fields.contains(.userAgent) { append("--header", "User-Agent:") }
        if request.options.expectContinue != nil, !request.body.isNone, !request.fields.contains(.expect) {
            append("--header", "Expect: 100-continue")
        }
        // curl would otherwise declare every body to be a form.
        let hasData = !request.body.isNone || Self.methodsWithContent.contains(request.method)
        if hasData, !request.fields.contains(.contentType) { append("--header", "Content-Type:") }
        guard let user = request.uri.userInformation, !request.fields.contains(.authorization) else { return }
        append("--user", masksSecrets ? "***" : Self.printable(user.utf8.contains(.colon) ? user : user + ":"))
    }

    private mutating func appendBody() {
        switch request.body.source {
        case .none:
            guard Self.methodsWithContent.contains(request.method) else { return }
            append("--data-raw", "")
        case .bytes(let bytes): append(bytes)
        case .file(let path, let offset, let length): append(file: path, offset: offset, length: length)
        case .watched(let file):
            append(file: file.path, offset: file.range.lowerBound, length: file.isWhole ? nil : file.length)
        case .factory, .once, .relayed: append("--data-binary", "@-")
        }
    }

    private mutating func append(file path: String, offset: Int64, length: Int64?) {
        if offset == 0, length == nil {
            append("--data-binary", path == "-" ? "@./-" : "@\(path)")
        } else {
            let tail = "tail --bytes=+\(offset + 1) -- \(ShellWord.quoted(path))"
            pipe(tail + (length.map { " | head --bytes=\($0)" } ?? ""))
        }
    }

    private mutating func append(_ bytes: [UInt8]) {
        guard bytes.count <= 64 << 10 else { return append("--data-binary", "@-") }
        if let text = String(validating: bytes, as: UTF8.self), Self.isPrintable(text) {
            append("--data-raw", text)
        } else {
            pipe("printf %s \(Data(bytes).base64EncodedString()) | base64 --decode")
        }
    }

    private mutating func pipe(_ command: String) {
        prefix = command + " | "
        append("--data-binary", "@-")
    }

    private mutating func appendTarget() {
        if request.uri.description.utf8.contains(where: { $0 == .openBracket || $0 == UInt8(ascii: "{") }) {
            append("--globoff")
        }
        if request.uri.layout.hasDotSegment { append("--path-as-is") }
        words.append(
            ShellWord.quoted(
                request.uri.loggedText(showsQuery: !masksSecrets || request.options.showsQueries)))
    }

    /// True if the text may appear in a command: it has no control characters but line feeds and tabs, and no marks
    /// that change the direction of text.
    private static func isPrintable(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isPrintable) }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar == "\n" || scalar == "\t"
        case .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// Removes characters that could not be sent anyway.
    private static func printable(_ text: String) -> String {
        var kept = String.UnicodeScalarView()
        kept.append(contentsOf: text.unicodeScalars.filter { isPrintable($0) && $0 != "\n" })
        return String(kept)
    }
}

/// A word of a POSIX shell.
enum ShellWord {
    /// The text as one word, in single quotes unless it is plain. The shell interprets none of its characters.
    static func quoted(_ text: String) -> String {
        guard !text.isEmpty, text.utf8.allSatisfy(isPlain) else {
            var quoted = "'"
            for character in text.unicodeScalars {
                if character == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(character) }
            }
            return quoted + "'"
        }
        return text
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"), .colon, .at, UInt8(ascii: ","),
            UInt8(ascii: "+"), UInt8(ascii: "%"):
            true
        default: byte.isLetter || byte.isDigit
        }
    }
}

extension CurlewRequest {
    /// The request as a command for a POSIX shell that sends the same request with `curl`.
    ///
    /// Every part is quoted, so that the shell interprets no part of the request. A body of text is part of the
    /// command; other bytes precede it in Base 64; a file is named. A stream, or a body above 64 KiB, must be piped
    /// into the command. Trailers, which curl cannot send, and options without a counterpart are omitted.
    /// - Parameter maskingSecrets: Replaces user information, the values of secret fields such as Authorization and
    ///   Cookie, and the query by `***`; ``RequestOptions/showsQueries`` keeps the query. The body is not masked.
    public func curlCommand(maskingSecrets: Bool = true) -> String {
        CurlCommand(self, masksSecrets: maskingSecrets).text
    }
}
