public import HTTPTypes

extension ChallengeAuthentication {
    /// One challenge of a response with status 401 or 407 (RFC 9110 §11.3): a scheme and what it says.
    public struct Challenge: Sendable, Hashable {
        /// The scheme.
        public let scheme: Credential.Scheme
        /// The parameters by their names in lower case; of several with one name the first.
        public let parameters: [String: String]
        /// The text in place of parameters, as with Negotiate.
        public let token68: String?

        public init(_ scheme: Credential.Scheme, parameters: [String: String] = [:], token68: String? = nil) {
            self.scheme = scheme
            self.parameters = parameters
            self.token68 = token68
        }

        /// The part of the server that the credentials are for; an empty name if it says none.
        public var realm: String { parameters["realm"] ?? "" }

        /// At most so many challenges of a response are read, and so many parameters of each.
        public static let limit = 16
        static let parameterLimit = 32

        /// The challenges of a response, in their order: those of `Proxy-Authenticate` with status 407, else those of
        /// `WWW-Authenticate`. What cannot be read is left out.
        public static func all(in response: HTTPResponse) -> [ChallengeAuthentication.Challenge] {
            let name: HTTPField.Name = response.status.code == 407 ? .proxyAuthenticate : .wwwAuthenticate
            var challenges: [ChallengeAuthentication.Challenge] = []
            for value in response.headerFields[values: name] {
                challenges += all(in: value)
                if challenges.count >= limit { break }
            }
            return Array(challenges.prefix(limit))
        }

        /// The challenges of one field's value.
        static func all(in value: String) -> [ChallengeAuthentication.Challenge] {
            var parser = ChallengeParser(Array(value.utf8))
            return parser.challenges()
        }
    }
}

/// Reads the value of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.6.1), where commas stand between challenges
/// as well as between the parameters of one.
///
/// It never fails: what does not fit is passed over up to the next comma, a string without its closing quote goes to the end
/// of the value, and a comma that is missing between two parameters is not missed.
private struct ChallengeParser {
    private var scanner: ByteScanner
    private var found: [ChallengeAuthentication.Challenge] = []
    private var scheme: String?
    private var parameters: [String: String] = [:]
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
                // What stands right behind a name, and is no space, does not belong there.
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
                Credential.Scheme(rawValue: scheme), parameters: parameters, token68: token68))
        self.scheme = nil
        parameters = [:]
        token68 = nil
    }

    private mutating func add(_ name: String, _ value: String) {
        guard scheme != nil, parameters.count < ChallengeAuthentication.Challenge.parameterLimit else { return }
        let name = name.lowercased()
        if parameters[name] == nil { parameters[name] = value }
    }

    /// Takes what stands in place of parameters, if all up to the next comma is of its form.
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

    private mutating func takeValue() -> String {
        if let value = scanner.takeQuotedString() { return String(decoding: value, as: UTF8.self) }
        return take { $0 != .comma && !$0.isBlank }
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
