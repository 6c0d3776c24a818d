internal import COpenSSL

/// The TLS sessions of the connections to one place, to be resumed by the next ones.
///
/// libcurl's own store is off: it knows a place by the name of a connection, and each has its own. Bounded. Not `Sendable`: it never
/// leaves its loop's thread.
final class SessionTickets {
    /// Servers send two tickets for each connection (RFC 8446 §4.6.1).
    private static let limit = 8
    private var sessions: [OpaquePointer] = []

    deinit { for session in sessions { SSL_SESSION_free(session) } }

    /// Takes over a session.
    func insert(_ session: OpaquePointer) {
        if sessions.count == Self.limit { SSL_SESSION_free(sessions.removeFirst()) }
        sessions.append(session)
    }

    /// The newest session. From TLS 1.3 on it is used once (RFC 8446 §C.4).
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

    /// Forgets a session that the server does not resume, or that may not be resumed any more.
    func removeAll() {
        for session in sessions { SSL_SESSION_free(session) }
        sessions = []
    }
}
