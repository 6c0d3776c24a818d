import Curlew
import HTTPTypes

/// The curl command of `--curl`.
struct CurlText {
    private let line: RequestLine
    private let connection: ConnectionWords
    private let output: OutputWords

    private var masksSecrets: Bool { !output.showsSecrets }

    init(_ line: RequestLine, _ connection: ConnectionWords, _ output: OutputWords) {
        self.line = line
        self.connection = connection
        self.output = output
    }

    func text() async throws -> String {
        let line = masksSecrets ? try await line.maskingSecrets() : line
        var bare = line
        // curl derives the method from these options. Files are named, and not read.
        let contentWords = Self.contentWords(of: line)
        if !contentWords.isEmpty {
            bare.content = .empty
            bare.method = .get
        }
        var request = try await bare.request()
        request.options.showsQueries = true
        if connection.usesHTTP1 { request.options.versionPolicy = .http11 }
        if connection.assumesHTTP2 { request.options.versionPolicy = .http2PriorKnowledge }
        if connection.usesHTTP3 { request.options.versionPolicy = .http3 }
        if connection.usesHTTP3Alone { request.options.versionPolicy = .http3Only }
        let command = request.curlCommand(maskingSecrets: masksSecrets)
        return (["\(command)"] + contentWords + extraWords).joined(separator: " ")
            .replacing("%2A%2A%2A", with: "***")
    }

    /// The options for a form of several parts or an uploaded file; none for other contents.
    private static func contentWords(of line: RequestLine) -> [String] {
        let (words, method): ([String], HTTPRequest.Method)
        switch line.content {
        case .parts(let parts): (words, method) = (parts.flatMap { ["--form", ShellWord.quoted($0.word)] }, .post)
        case .upload(let path): (words, method) = (["--upload-file", ShellWord.quoted(path)], .put)
        case .empty, .data, .jsonData, .members, .file: return []
        }
        return line.method == method ? words : ["--request", line.method.rawValue] + words
    }

    /// The options that are not part of the request.
    private var extraWords: [String] {
        var words: [String] = []
        func add(_ option: String, _ value: String? = nil) {
            words.append(option)
            if let value { words.append(ShellWord.quoted(value)) }
        }
        if connection.followsRedirects { add("--location") }
        if connection.isCompressed { add("--compressed") }
        if connection.isInsecure { add("--insecure") }
        if let time = connection.maximumTime { add("--max-time", "\(time.duration / .seconds(1))") }
        if let time = connection.connectTime { add("--connect-timeout", "\(time.duration / .seconds(1))") }
        if connection.retries > 0 { add("--retry", "\(connection.retries)") }
        if let proxy = connection.proxy { add("--proxy", masksSecrets ? Self.maskingUser(proxy) : proxy) }
        if let hosts = connection.noProxy { add("--noproxy", hosts) }
        for text in connection.resolve { add("--resolve", text) }
        for text in connection.connectTo { add("--connect-to", text) }
        if connection.usesIPv4 { add("--ipv4") }
        if connection.usesIPv6 { add("--ipv6") }
        if let path = connection.unixSocket { add("--unix-socket", path) }
        if let file = connection.authorities { add("--cacert", file) }
        if let file = connection.certificate { add("--cert", masksSecrets ? Self.maskingPassphrase(file) : file) }
        if let file = connection.key { add("--key", file) }
        if let file = output.output { add("--output", file) }
        if output.usesRemoteName { add("--remote-name") }
        if output.includesHead { add("--include") }
        if output.fails { add("--fail") }
        if output.failsWithBody { add("--fail-with-body") }
        return words
    }

    private static func maskingUser(_ proxy: String) -> String {
        guard let at = proxy.lastIndex(of: "@") else { return proxy }
        let scheme = proxy.firstRange(of: "://").map { String(proxy[..<$0.upperBound]) } ?? ""
        return "\(scheme)***\(proxy[at...])"
    }

    private static func maskingPassphrase(_ certificate: String) -> String {
        guard !InputFile.exists(certificate), let colon = certificate.lastIndex(of: ":") else { return certificate }
        return "\(certificate[..<colon]):***"
    }
}
