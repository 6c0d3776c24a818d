#if TestKit
internal import Curlew
public import HTTPTypes

extension Recording {
    /// The secrets to mask in a recording: ``Recording/mask`` replaces them.
    ///
    /// Some secrets are always masked:
    /// - The values of the fields that Curlew knows as secret, such as Authorization, Proxy-Authorization and
    ///   X-API-Key; the scheme remains.
    /// - The values in Cookie and Set-Cookie; names and attributes remain.
    /// - The fields in `RequestOptions.secretFields`.
    /// - User information in URLs: in the request's URL and in fields.
    ///
    /// The values of ``parameters`` are masked next, in all places, and then the two closures run.
    ///
    /// ```swift
    /// var masking = Recording.Masking()
    /// masking.parameters.insert("ssn")
    /// masking.scrubRequest = { $0.url.replace(token, with: Recording.mask) }
    /// ```
    ///
    /// Secrets in the following places are not found and need a closure: paths, parts of multipart bodies, XML, JSON
    /// inside a JSON string, and binary bodies.
    public struct Masking: Sendable {
        /// The secret fields of requests, responses and trailers.
        public var fields: Set<HTTPField.Name>
        /// The names of secret values, without regard to case; ``commonParameters`` by default.
        ///
        /// The names apply to query items of all URLs, also of those in fields, to fields of forms, also as
        /// `user[name]`, and to members of JSON at any depth. A JSON value of any type becomes the string `***`.
        public var parameters: Set<String>
        /// Masks further secrets of a request. A ``ReplayTransport`` also applies it to the requests that it compares.
        public var scrubRequest: (@Sendable (inout Request) -> Void)?
        /// Masks further secrets of a response.
        public var scrubResponse: (@Sendable (inout Response) -> Void)?

        /// Makes a masking; the fields that are always masked may be omitted.
        public init(fields: Set<HTTPField.Name> = [], parameters: Set<String> = Masking.commonParameters) {
            self.fields = fields
            self.parameters = parameters
        }

        /// Names of values that are secret in most APIs.
        ///
        /// - Tokens: `access_token`, `refresh_token`, `id_token`, `token`, `session_token`.
        /// - Keys: `api_key`, `apikey`, `private_key`.
        /// - Clients: `client_secret`, `client_assertion`, `assertion`, `code_verifier`.
        /// - Passwords: `secret`, `password`, `passwd`.
        /// - Signatures: `sig`, `signature`.
        /// - The camel-case forms of some of these, and the names in signed URLs of object stores.
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
    /// - Parameter marked: The fields that the request's options mark as secret.
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
                // A value that is not UTF-8 would change in the conversion to a string and back.
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

    /// The pair with its value masked: `name=***`.
    private static func maskedPair(_ pair: Substring) -> String {
        pair.firstIndex(of: "=").map { "\(pair[...$0])\(Recording.mask)" } ?? Recording.mask
    }
}

extension HTTPFields {
    /// True if the Content-Type is that of a URL-encoded form.
    var isForm: Bool {
        ContentType(contentTypeOf: self)?.essence == "application/x-www-form-urlencoded"
    }
}
#endif
