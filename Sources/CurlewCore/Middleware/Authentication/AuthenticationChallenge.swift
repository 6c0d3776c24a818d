public import HTTPTypes

extension ChallengeAuthentication {
    /// A challenge of a response with status 401 or 407 (RFC 9110 §11.3): a scheme and its parameters.
    public struct Challenge: Sendable, Hashable {
        /// The scheme.
        public let scheme: Credential.Scheme
        /// The parameters by their names in lower case. If a name occurs several times, its first value counts.
        public let parameters: [String: String]
        /// The text that replaces parameters, for example with Negotiate.
        public let token68: String?
        /// The values that are not UTF-8, by the names of their parameters. ``parameters`` has them as ISO-8859-1.
        private let rawValues: [String: [UInt8]]

        public init(_ scheme: Credential.Scheme, parameters: [String: String] = [:], token68: String? = nil) {
            self.scheme = scheme
            self.parameters = parameters
            self.token68 = token68
            rawValues = [:]
        }

        fileprivate init(_ scheme: Credential.Scheme, values: [String: [UInt8]], token68: String?) {
            self.scheme = scheme
            parameters = values.mapValues { String(guessing: $0) }
            self.token68 = token68
            rawValues = values.filter { String(validating: $0.value, as: UTF8.self) == nil }
        }

        /// The bytes of a parameter as the server sent them; nil if it is missing.
        func bytes(of name: String) -> [UInt8]? { rawValues[name] ?? parameters[name].map { Array($0.utf8) } }

        /// The realm: the part of the server that the credentials are for. It is empty if the challenge names none.
        public var realm: String { parameters["realm"] ?? "" }

        /// The largest number of challenges that are read from a response: 16. Each may have 32 parameters.
        public static let limit = 16
        static let parameterLimit = 32

        /// The challenges of a response, in order: from `Proxy-Authenticate` with status 407, otherwise from
        /// `WWW-Authenticate`. Unreadable challenges are left out.
        public static func all(in response: HTTPResponse) -> [ChallengeAuthentication.Challenge] {
            let name: HTTPField.Name = response.status.code == 407 ? .proxyAuthenticate : .wwwAuthenticate
            var challenges: [ChallengeAuthentication.Challenge] = []
            for field in response.headerFields where field.name == name {
                var parser = ChallengeParser(field.withUnsafeBytesOfValue { Array($0) })
                challenges += parser.challenges()
                if challenges.count >= limit { break }
            }
            return Array(challenges.prefix(limit))
        }

        /// The challenges in the value of one field.
        static func all(in value: String) -> [ChallengeAuthentication.Challenge] {
            var parser = ChallengeParser(Array(value.utf8))
            return parser.challenges()
        }
    }
}

/// Parses the value of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.6.1), where commas separate both
/// challenges and the parameters of one challenge.
///
/// Parsing never fails. Text that does not fit is skipped up to the next comma. A string without its closing quote
/// extends to the end of the value. A comma between two parameters may be missing.
private struct ChallengeParser {
    private var scanner: ByteScanner
    private var found: [ChallengeAuthentication.Challenge] = []
    private var scheme: String?
    private var parameters: [String: [UInt8]] = [:]
    private var token68: String?

    init(_ bytes: [UInt8]) { scanner = ByteScanner(bytes) }

    mutating func challenges() -> [ChallengeAuthentication.Challenge] {
        while !scanner.isAtEnd, found.count < ChallengeAuthentication.Challenge.limit {
            scanner.skip { $0 == .comma || $0.isBlank }
            let name = take(while: \.isTokenByte)
            guard !name.isEmpty else {
                skipToComma()
                continue
            }
            let space = scanner.take(while: \.isBlank)
            if scanner.take(.equals) {
                scanner.skip(while: \.isBlank)
                add(name, takeValue())
            } else {
                // Other bytes than spaces are invalid right after a name.
                if space.isEmpty, let next = scanner.next, next != .comma { skipToComma() }
                finish()
                scheme = name
                takeToken68()
            }
        }
        finish()
        return found
    }

    private mutating func finish() {
        guard let scheme, found.count < ChallengeAuthentication.Challenge.limit else { return }
        found.append(
            ChallengeAuthentication.Challenge(
                Credential.Scheme(rawValue: scheme), values: parameters, token68: token68))
        self.scheme = nil
        parameters = [:]
        token68 = nil
    }

    private mutating func add(_ name: String, _ value: [UInt8]) {
        guard scheme != nil, parameters.count < ChallengeAuthentication.Challenge.parameterLimit else { return }
        let name = name.lowercased()
        if parameters[name] == nil { parameters[name] = value }
    }

    /// Reads a token68 in place of parameters, if the text up to the next comma has that form.
    private mutating func takeToken68() {
        let start = scanner
        let word = take { $0.isToken68Byte }
        let padding = take { $0 == .equals }
        let end = scanner
        scanner.skip(while: \.isBlank)
        guard !word.isEmpty, scanner.isAtEnd || scanner.next == .comma else {
            scanner = start
            return
        }
        scanner = end
        token68 = word + padding
    }

    private mutating func takeValue() -> [UInt8] {
        scanner.takeQuotedString() ?? Array(scanner.take { $0 != .comma && !$0.isBlank })
    }

    private mutating func skipToComma() {
        while let next = scanner.next, next != .comma {
            if next == .quote { _ = scanner.takeQuotedString() } else { _ = scanner.take(next) }
        }
    }

    private mutating func take(while condition: (UInt8) -> Bool) -> String {
        String(decoding: scanner.take(while: condition), as: UTF8.self)
    }
}
