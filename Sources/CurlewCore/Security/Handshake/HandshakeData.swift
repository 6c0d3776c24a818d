internal import COpenSSL

/// Swift objects that OpenSSL objects own: a ``Handshake`` is owned by the `SSL_CTX` of its connection, a
/// ``VerifiedPeer`` by each session ticket. OpenSSL calls back when it frees or copies the owner, so the object lives
/// exactly as long.
enum HandshakeData {
    private static let handshakeIndex = curlew_context_data_index { _, object, _, _, _, _ in
        guard let object else { return }
        Unmanaged<Handshake>.fromOpaque(object).release()
    }

    private static let peerIndex = curlew_session_data_index(
        { _, _, object, _, _, _ in
            guard let object = object?.pointee else { return 1 }
            _ = Unmanaged<VerifiedPeer>.fromOpaque(object).retain()
            return 1
        },
        { _, object, _, _, _, _ in
            guard let object else { return }
            Unmanaged<VerifiedPeer>.fromOpaque(object).release()
        })

    /// Stores a handshake in its context.
    /// - Returns: True if there was memory for it.
    static func keep(_ handshake: Handshake, in context: OpaquePointer) -> Bool {
        guard handshakeIndex >= 0, SSL_CTX_get_ex_data(context, handshakeIndex) == nil else { return false }
        let object = Unmanaged.passRetained(handshake)
        guard SSL_CTX_set_ex_data(context, handshakeIndex, object.toOpaque()) == 1 else {
            object.release()
            return false
        }
        return true
    }

    /// The handshake of a connection; nil if another library created the connection.
    static func handshake(of connection: OpaquePointer) -> Handshake? {
        guard handshakeIndex >= 0, let context = SSL_get_SSL_CTX(connection),
            let object = SSL_CTX_get_ex_data(context, handshakeIndex)
        else { return nil }
        return Unmanaged<Handshake>.fromOpaque(object).takeUnretainedValue()
    }

    /// Stores an accepted peer in its session, replacing an earlier one.
    static func keep(_ peer: VerifiedPeer, in session: OpaquePointer) {
        guard peerIndex >= 0 else { return }
        let earlier = SSL_SESSION_get_ex_data(session, peerIndex)
        let object = Unmanaged.passRetained(peer)
        guard SSL_SESSION_set_ex_data(session, peerIndex, object.toOpaque()) == 1 else { return object.release() }
        if let earlier { Unmanaged<VerifiedPeer>.fromOpaque(earlier).release() }
    }

    static func peer(of session: OpaquePointer) -> VerifiedPeer? {
        guard peerIndex >= 0, let object = SSL_SESSION_get_ex_data(session, peerIndex) else { return nil }
        return Unmanaged<VerifiedPeer>.fromOpaque(object).takeUnretainedValue()
    }
}
