internal import Curlew

/// The client side of OAuth 2: tokens, requests for them, and errors (RFC 6749, 7009, 7523, 7636, 8628, 8693).
public enum OAuth {
    /// True for a scope: one or more printable characters of ASCII without space, quote and backslash (RFC 6749 §3.3).
    static func scopeText(_ scopes: [String]) throws(CurlewError) -> String? {
        guard scopes.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isScopeByte) }) else {
            throw CurlewError(.invalidRequest, "a scope is empty, or has a character that no scope has")
        }
        return scopes.isEmpty ? nil : scopes.joined(separator: " ")
    }
}

extension UInt8 {
    /// `NQCHAR` of RFC 6749: printable ASCII without space, quote and backslash.
    var isScopeByte: Bool { isVisible && self != .quote && self != .backslash }

    /// `NQSCHAR` of RFC 6749: the same with the space.
    var isErrorByte: Bool { self == .space || isScopeByte }
}
