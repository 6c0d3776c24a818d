extension SecurityPolicy {
    /// A session that pins cannot speak without TLS.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting``.
    func checkBase(_ base: URI?) throws {
        guard pinningMode != .none, let base, !base.layout.isSecure else { return }
        throw CurlewError(
            .invalidTLSSetting, "a security policy with the pinning mode \(pinningMode) needs a base URL of https")
    }
}
