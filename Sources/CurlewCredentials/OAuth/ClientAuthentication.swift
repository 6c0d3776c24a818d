public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension OAuth {
    /// A client of an authorization server: its identifier and its authentication.
    ///
    /// Descriptions contain no secrets and no keys.
    ///
    /// ```swift
    /// let client = try OAuth.Client("s6BhdRkqt3", .privateKey(SigningKey(pem: pem), keyID: "2026"))
    /// ```
    public struct Client: Sendable {
        /// The identifier.
        public let identifier: String
        /// The authentication of the client.
        public let authentication: ClientAuthentication

        /// - Parameters:
        ///   - identifier: The identifier that the server has given the client.
        ///   - authentication: The authentication of the client; ``ClientAuthentication/none`` for a public client.
        public init(_ identifier: String, _ authentication: ClientAuthentication = .none) {
            self.identifier = identifier
            self.authentication = authentication
        }
    }

    /// The authentication of a client at the token endpoint (RFC 6749 §2.3, RFC 7523 §2.2).
    public struct ClientAuthentication: Sendable {
        fileprivate enum Kind: Sendable {
            case none
            case basic(secret: String)
            case post(secret: String)
            case assertion(AssertionSigner)
        }

        fileprivate let kind: Kind

        /// A public client: only its identifier is sent.
        public static let none = ClientAuthentication(kind: .none)

        /// `client_secret_basic`: identifier and secret in the field Authorization. Every server must support it.
        public static func basic(secret: String) -> ClientAuthentication {
            ClientAuthentication(kind: .basic(secret: secret))
        }

        /// `client_secret_post`: identifier and secret in the form.
        public static func post(secret: String) -> ClientAuthentication {
            ClientAuthentication(kind: .post(secret: secret))
        }

        /// `private_key_jwt`: a signed assertion in the form, by RS256 for an RSA key and by ES256 for a key of P-256.
        /// - Parameters:
        ///   - key: The private key.
        ///   - keyID: The name by which the server finds the public key.
        ///   - audience: The recipient of the assertion, usually the issuer's URL; nil uses the URL of the endpoint.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a key of another kind.
        public static func privateKey(
            _ key: SigningKey, keyID: String? = nil, audience: String? = nil
        ) throws(CurlewError) -> ClientAuthentication {
            ClientAuthentication(kind: .assertion(try AssertionSigner(key, keyID: keyID, audience: audience)))
        }
    }

    /// A form with the fields of its request.
    struct FormRequest {
        var fields: HTTPFields
        var body: [UInt8]
        /// The secret values, which a response of the server could repeat.
        var secrets: [String]
    }
}

extension OAuth.Client {
    /// The form of a request, with the client's authentication.
    /// - Parameters:
    ///   - request: The request.
    ///   - endpoint: The URL of the endpoint.
    ///   - moment: The time of an assertion.
    ///   - generator: The source of the identifier of an assertion.
    func form(
        of request: OAuth.Request, endpoint: String, at moment: Date, using generator: inout some RandomNumberGenerator
    ) throws(CurlewError) -> OAuth.FormRequest {
        var fields: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
        ]
        var parameters = request.parameters
        var secrets = request.secrets
        switch authentication.kind {
        case .none: parameters.append(("client_id", identifier))
        case .basic(let secret):
            let pair = "\(PercentEncoding.encodeForm(identifier)):\(PercentEncoding.encodeForm(secret))"
            let encoded = Base64.encode(Array(pair.utf8))
            fields[.authorization] = "Basic \(encoded)"
            secrets += [secret, encoded]
        case .post(let secret):
            parameters += [("client_id", identifier), ("client_secret", secret)]
            secrets.append(secret)
        case .assertion(let signer):
            let assertion = try signer.assertion(
                client: identifier, endpoint: endpoint, at: moment, using: &generator)
            parameters += [
                ("client_id", identifier),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", assertion),
            ]
            secrets.append(assertion)
        }
        let body = parameters.map { "\(PercentEncoding.encodeForm($0.name))=\(PercentEncoding.encodeForm($0.value))" }
        return OAuth.FormRequest(fields: fields, body: Array(body.joined(separator: "&").utf8), secrets: secrets)
    }
}

extension OAuth.ClientAuthentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        switch kind {
        case .none: "none"
        case .basic: "client_secret_basic"
        case .post: "client_secret_post"
        case .assertion: "private_key_jwt"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["method": description]) }
}

extension OAuth.FormRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "form of \(body.count) bytes" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["count": body.count]) }
}
