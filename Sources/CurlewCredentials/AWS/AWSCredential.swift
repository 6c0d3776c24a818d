public import Curlew
public import FoundationEssentials

/// The access key of an AWS account or role, with its secret.
///
/// Descriptions contain neither the secret nor the session token, and the value cannot be encoded.
///
/// ```swift
/// let credential = try AWSCredential(accessKey: "AKIDEXAMPLE", secretKey: secret)
/// ```
public struct AWSCredential: Sendable, Hashable {
    /// The identifier of the key. Requests contain it.
    public let accessKey: String
    /// The token of a temporary key.
    public let sessionToken: String?
    /// The time at which a temporary key expires; nil for a key that does not expire.
    public let expiration: Date?
    /// The secret, with the prefix `AWS4` of every signing key.
    let secret: SecretBytes

    /// - Parameters:
    ///   - accessKey: The identifier of the key: printable ASCII without space, slash and comma.
    ///   - secretKey: The secret, of at least one byte.
    ///   - sessionToken: The token of a temporary key: printable ASCII without spaces. An empty token counts as nil.
    ///   - expiration: The time at which a temporary key expires.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential``.
    public init(
        accessKey: String, secretKey: String, sessionToken: String? = nil, expiration: Date? = nil
    ) throws(CurlewError) {
        guard accessKey.isVisibleASCII, !accessKey.utf8.contains(.slash), !accessKey.utf8.contains(.comma) else {
            throw CurlewError(.invalidCredential, "an AWS access key is empty or holds a character that no key has")
        }
        guard !secretKey.isEmpty else { throw CurlewError(.invalidCredential, "an AWS secret key is empty") }
        let token = sessionToken.flatMap { $0.isEmpty ? nil : $0 }
        guard token?.isVisibleASCII ?? true else {
            throw CurlewError(.invalidCredential, "an AWS session token holds a character that no token has")
        }
        self.accessKey = accessKey
        self.sessionToken = token
        self.expiration = expiration
        secret = SecretBytes("AWS4\(secretKey)".utf8)
    }

    /// True if the key has expired at a moment.
    public func isExpired(at moment: Date) -> Bool { expiration.map { $0 <= moment } ?? false }
}

extension AWSCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "AWS access key \(accessKey)\(sessionToken == nil ? "" : " with session token")" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
