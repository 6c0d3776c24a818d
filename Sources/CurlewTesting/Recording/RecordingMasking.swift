#if TestKit
internal import Curlew
public import HTTPTypes

extension Recording {
    /// The secrets that a recording is made without: ``Recording/mask`` stands in their place.
    ///
    /// These are always masked: the values of the fields that Curlew knows to be secret (Authorization, Proxy-Authorization,
    /// X-API-Key and the like; the scheme stays), of Cookie and Set-Cookie (names and attributes stay), of the
    /// fields in `RequestOptions.secretFields`, and user information in URLs, that of the request and those in fields. Then what ``parameters`` names, wherever it
    /// stands, and at last what the two closures do.
    ///
    /// ```swift
    /// var masking = Recording.Masking()
    /// masking.parameters.insert("ssn")
    /// masking.scrubRequest = { $0.url.replace(token, with: Recording.mask) }
    /// ```
    ///
    /// It knows nothing of secrets in paths, in parts of multipart bodies, in XML, in JSON that is the text of a string, and in
    /// binary bodies: the closures are for these.
    public struct Masking: Sendable {
        /// Fields that are secret, of requests, responses and trailers.
        public var fields: Set<HTTPField.Name>
        /// Names of values that are secret: of query items, wherever a URL stands in a field, of the fields of forms, also as
        /// `user[name]`, and of members of JSON at any depth, where any value becomes the string `***`. Case does not matter.
        /// ``commonParameters`` by default.
        public var parameters: Set<String>
        /// Takes further secrets out of a request. A ``ReplayTransport`` does the same with the requests that it compares.
        public var scrubRequest: (@Sendable (inout Request) -> Void)?
        /// Takes further secrets out of a response.
        public var scrubResponse: (@Sendable (inout Response) -> Void)?

        /// Makes a masking; what is always masked need not be named.
        public init(fields: Set<HTTPField.Name> = [], parameters: Set<String> = Masking.commonParameters) {
            self.fields = fields
            self.parameters = parameters
        }

        /// Names that are secret nearly everywhere: `access_token`, `refresh_token`, `id_token`, `token`, `api_key`, `apikey`,
        /// `client_secret`, `client_assertion`, `assertion`, `code_verifier`, `secret`, `password`, `passwd`, `private_key`,
        /// `sig`, `signature`, `session_token` and those of signed URLs of object stores.
        public static let commonParameters: Set<String> = [
            "access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "client_secret",
            "client_assertion", "assertion", "code_verifier", "secret", "password", "passwd", "private_key", "sig",
            "signature", "session_token", "accessToken", "refreshToken", "idToken", "clientSecret", "privateKey",
            "sessionToken", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "X-Goog-Signature",
            "X-Goog-Credential",
        ]
    }
}

extension Recording.Masking {
    /// The request without its secrets.
    ///
    /// - Parameter marked: The fields that its options name as secret.
    func masked(_ request: Recording.Request, marked: Set<HTTPField.Name>) -> Recording.Request {
        let text = SecretText(self.parameters)
        var request = request
        request.url = text.maskedURL(request.url)
        request.fields = self.masked(request.fields, text, marked: marked)
        request.trailers = self.masked(request.trailers, text, marked: marked)
        request.body.bytes = text.maskedBody(request.body.bytes, isForm: request.fields.isForm)
        self.scrubRequest?(&request)
        return request
    }

    /// The response without its secrets.
    func masked(_ response: Recording.Response, marked: Set<HTTPField.Name>) -> Recording.Response {
        let text = SecretText(self.parameters)
        var response = response
        response.fields = self.masked(response.fields, text, marked: marked)
        response.trailers = self.masked(response.trailers, text, marked: marked)
        for index in response.interim.indices {
            response.interim[index].headerFields = self.masked(
                response.interim[index].headerFields, text, marked: marked)
        }
        response.body.bytes = text.maskedBody(response.body.bytes, isForm: response.fields.isForm)
        self.scrubResponse?(&response)
        return response
    }

    /// The failure without its secrets.
    func masked(_ failure: Recording.Failure) -> Recording.Failure {
        var failure = failure
        failure.message = SecretText(self.parameters).maskedValue(failure.message)
        return failure
    }

    private func masked(_ fields: HTTPFields, _ text: SecretText, marked: Set<HTTPField.Name>) -> HTTPFields {
        let marked = self.fields.union(marked)
        var masked = HTTPFields()
        for field in fields {
            var field = field
            switch field.name {
            case .cookie where !marked.contains(.cookie):
                field.value = field.value.split(separator: ";").map(Self.maskedPair).joined(separator: ";")
            case .setCookie where !marked.contains(.setCookie):
                let parts = field.value.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
                field.value = ([Self.maskedPair(parts[0])] + parts.dropFirst().map { String($0) })
                    .joined(separator: ";")
            default:
                let value = SecretFields.masked(field, marked: marked)
                // What is no UTF-8 would be changed by the way through a string.
                if value != field.value {
                    field.value = value
                } else {
                    let value = text.maskedValue(value)
                    if value != field.value { field.value = value }
                }
            }
            masked.append(field)
        }
        return masked
    }

    /// `name=***`.
    private static func maskedPair(_ pair: Substring) -> String {
        pair.firstIndex(of: "=").map { "\(pair[...$0])\(Recording.mask)" } ?? Recording.mask
    }
}

extension HTTPFields {
    /// True if they say that the body is a form in its short form.
    var isForm: Bool {
        ContentType(contentTypeOf: self)?.essence == "application/x-www-form-urlencoded"
    }
}
#endif
