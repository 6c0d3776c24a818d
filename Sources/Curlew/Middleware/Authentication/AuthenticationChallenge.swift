public import HTTPTypes

/// One challenge of a response with status 401 or 407 (RFC 9110 §11.3): a scheme and what it says.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme.
    public let scheme: AuthenticationScheme
    /// The parameters by their names in lower case; of several with one name the first.
    public let parameters: [String: String]
    /// What stands in place of parameters, as with Negotiate.
    public let token68: String?

    public init(_ scheme: AuthenticationScheme, parameters: [String: String] = [:], token68: String? = nil) {
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
    public static func all(in response: HTTPResponse) -> [AuthenticationChallenge] {
        let name: HTTPField.Name = response.status.code == 407 ? .proxyAuthenticate : .wwwAuthenticate
        var challenges: [AuthenticationChallenge] = []
        for value in response.headerFields[values: name] {
            challenges += all(in: value)
            if challenges.count >= limit { break }
        }
        return Array(challenges.prefix(limit))
    }

    /// The challenges of one field's value.
    static func all(in value: String) -> [AuthenticationChallenge] {
        var parser = ChallengeParser(Array(value.utf8))
        return parser.challenges()
    }
}
