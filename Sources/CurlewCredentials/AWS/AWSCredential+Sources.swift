internal import Curlew
internal import FoundationEssentials

extension AWSCredential {
    /// The credential in the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` and
    /// `AWS_CREDENTIAL_EXPIRATION` of an environment; nil without an access key.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for an access key without a secret.
    init?(environment: [String: String]) throws(CurlewError) {
        let value = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let accessKey = value("AWS_ACCESS_KEY_ID") else { return nil }
        guard let secretKey = value("AWS_SECRET_ACCESS_KEY") else {
            throw CurlewError(
                .invalidCredential, "the environment has AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY")
        }
        let end = value("AWS_CREDENTIAL_EXPIRATION")
        let expiration = end.flatMap { TimeText.internetDate($0) }
        guard end == nil || expiration != nil else {
            throw CurlewError(.invalidCredential, "AWS_CREDENTIAL_EXPIRATION is no date")
        }
        try self.init(
            accessKey: accessKey, secretKey: secretKey,
            sessionToken: value("AWS_SECURITY_TOKEN") ?? value("AWS_SESSION_TOKEN"), expiration: expiration)
    }

    /// The credential of a profile in a shared credentials file; nil if the file lacks the profile, or the profile
    /// lacks an access key.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential``.
    init?(sharedFile bytes: [UInt8], profile: String) throws(CurlewError) {
        let file = try AWSProfileFile(bytes)
        guard let accessKey = try file.text(of: "aws_access_key_id", in: profile) else { return nil }
        guard let secretKey = try file.text(of: "aws_secret_access_key", in: profile) else {
            throw CurlewError(.invalidCredential, "a profile of the AWS credentials file lacks aws_secret_access_key")
        }
        let oldToken = try file.text(of: "aws_security_token", in: profile)
        let token = try file.text(of: "aws_session_token", in: profile)
        try self.init(accessKey: accessKey, secretKey: secretKey, sessionToken: oldToken ?? token)
    }
}

/// A response with the credential of a role, from a container's endpoint or an instance's metadata service.
struct AWSRoleAnswer: Decodable {
    /// The result in responses of the metadata service: `Success`, or the name of an error.
    let code: String?
    let message: String?
    let accessKey: String?
    let secretKey: String?
    let token: String?
    let expiration: String?

    private enum CodingKeys: String, CodingKey {
        case code = "Code"
        case message = "Message"
        case accessKey = "AccessKeyId"
        case secretKey = "SecretAccessKey"
        case token = "Token"
        case expiration = "Expiration"
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for an error, and for an incomplete
    ///   response.
    var credential: AWSCredential {
        get throws(CurlewError) {
            guard let accessKey, let secretKey, let token, let expiration else {
                let words = [code, message].compactMap(\.self).joined(separator: ": ")
                let reason = words.isEmpty ? "" : " (\(PeerText.escaped(words, limit: 200)))"
                throw CurlewError(.invalidCredential, "the metadata service gave no credential\(reason)")
            }
            guard let end = TimeText.internetDate(expiration) else {
                throw CurlewError(.invalidCredential, "the end of a credential of the metadata service is no date")
            }
            return try AWSCredential(accessKey: accessKey, secretKey: secretKey, sessionToken: token, expiration: end)
        }
    }
}

/// The endpoint, named by the environment, from which a container gets the credential of its role.
struct AWSContainerEndpoint: Hashable {
    /// The URI: scheme, authority, path and query.
    let uri: String
    /// The value of the field Authorization; nil without one, and if a file contains it.
    let authorization: String?
    /// The file with the value of the field Authorization. It is read for each request.
    let authorizationFile: String?

    /// - Returns: nil if the environment names no endpoint.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for an endpoint that is neither
    ///   HTTPS, nor on this machine, nor one of the addresses of ECS and EKS.
    init?(environment: [String: String]) throws(CurlewError) {
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            guard path.utf8.first == .slash, path.isVisibleASCII else {
                throw CurlewError(.invalidCredential, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is no path")
            }
            uri = "http://169.254.170.2\(path)"
        } else if let whole = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            guard whole.isVisibleASCII, Self.isAllowed(whole) else {
                throw CurlewError(
                    .invalidCredential,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither HTTPS nor an address of this machine, ECS or EKS")
            }
            uri = whole
        } else {
            return nil
        }
        authorizationFile = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
        authorization = authorizationFile == nil ? environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] : nil
        guard authorization.map(\.isPrintableASCII) ?? true else {
            throw CurlewError(.invalidCredential, "AWS_CONTAINER_AUTHORIZATION_TOKEN is no value of a field")
        }
    }

    private static func isAllowed(_ uri: String) -> Bool {
        let bytes = Array(uri.utf8)
        if bytes.starts(with: "https://".utf8) { return true }
        guard bytes.starts(with: "http://".utf8) else { return false }
        let authority = bytes.dropFirst(7).prefix { $0 != .slash && $0 != .questionMark && $0 != .numberSign }
        let host: ArraySlice<UInt8>
        if authority.first == UInt8(ascii: "["), let end = authority.firstIndex(of: UInt8(ascii: "]")) {
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != .colon }
        }
        let port = authority.dropFirst(host.count)
        guard port.isEmpty || port.first == .colon && port.dropFirst().allSatisfy(\.isDigit) else { return false }
        return ["localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"].contains {
            host.elementsEqual($0.utf8)
        }
    }
}

extension AWSRoleAnswer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "answer of a metadata service" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension AWSContainerEndpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "endpoint of a container's credential" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
