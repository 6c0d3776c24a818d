internal import FoundationEssentials
internal import HTTPTypes

extension HTTPRequestSerializer {
    /// Sends these credentials with every request that has no Authorization field: `Basic` with the Base 64 of
    /// `user:password` in UTF-8 (RFC 7617).
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a colon in the user's name, which would become part
    ///   of the password, and for control characters in either (RFC 7617 §2).
    public mutating func setAuthorization(user: String, password: String) throws {
        let credentials = "\(user):\(password)"
        guard !user.utf8.contains(.colon) else {
            throw CurlewError(.invalidRequest, "a user's name with a colon cannot be sent as Basic credentials")
        }
        guard !credentials.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlewError(.invalidRequest, "the Basic credentials hold a control character")
        }
        defaultFields[.authorization] = "Basic \(Data(credentials.utf8).base64EncodedString())"
    }

    /// Sends no credentials of its own any more.
    public mutating func clearAuthorization() { defaultFields[.authorization] = nil }
}
