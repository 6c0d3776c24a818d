internal import COpenSSL

/// The TLS sessions of the connections to one destination, for later connections to resume.
///
/// libcurl's own cache is disabled: its key contains the name of a connection, and each connection has a name of its
/// own. The number is bounded. Not `Sendable`: it stays on its loop's thread.
final class SessionTickets {
    /// Servers send two tickets for each connection (RFC 8446 §4.6.1).
    private static let limit = 8
    private var sessions: [OpaquePointer] = []

    deinit { for session in sessions { SSL_SESSION_free(session) } }

    /// Takes ownership of a session.
    func insert(_ session: OpaquePointer) {
        if sessions.count == Self.limit { SSL_SESSION_free(sessions.removeFirst()) }
        sessions.append(session)
    }

    /// The latest session. Since TLS 1.3 it is used only once (RFC 8446 §C.4).
    /// - Returns: A session that the caller frees.
    func take() -> OpaquePointer? {
        guard let session = sessions.last else { return nil }
        if SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION {
            sessions.removeLast()
        } else {
            SSL_SESSION_up_ref(session)
        }
        return session
    }

    /// Removes all sessions, after the server did not resume one or one may no longer be resumed.
    func removeAll() {
        for session in sessions { SSL_SESSION_free(session) }
        sessions = []
    }
}
