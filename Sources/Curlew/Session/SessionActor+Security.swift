internal import HTTPTypes

extension SessionActor {
    /// Connects to the host of an `https` URL, shakes hands, and closes, without sending a request.
    /// - Parameters:
    ///   - url: The URL; host and port of it count.
    ///   - options: Route, timeouts and policy; what is nil is the session's.
    /// - Returns: What was agreed on with a server that the policy accepts.
    /// - Throws: ``CurlewError``; ``CurlewError/serverTrust`` tells of a server that it does not.
    public nonisolated func connectionSecurity(
        of url: String, options: RequestOptions = RequestOptions()
    ) async throws -> ConnectionSecurity {
        var request = try Request(.head, url, options: options)
        guard request.uri.scheme == "https" else {
            throw CurlewError(.unsupportedScheme, "only https has a handshake to look at")
        }
        request.options.isHandshakeOnly = true
        do {
            _ = try await dataTask(request).run()
        } catch let error as CurlewError {
            if let agreed = error.handshake { return agreed }
            throw error
        }
        throw CurlewError(.engineFailed, "a request was sent where only a connection was wanted")
    }
}
