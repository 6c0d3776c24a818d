/// The evidence of how an HTTP/2 connection has ended, of which libcurl says little: its state, and the bytes that went over it.
struct ConnectionEvidence {
    /// The bytes of a GOAWAY frame without debug data (RFC 9113 §6.8).
    private static let goAwayBytes: Int64 = 17

    let connection: Connection
    let handshake: Handshake?
    let tlsVersion: SecurityPolicy.TLSVersion?

    private var multi: MultiHandle { connection.multi }

    /// True if the peer has not ended the connection, or had not when libcurl closed it.
    var isOpen: Bool {
        guard handshake?.isClosedByPeer != true else { return false }
        return multi.knows(connection) ? connection.isOpenAtPeer : connection.wasOpenWhenClosed
    }

    /// True if libcurl has written as much as a GOAWAY since something last came; nil if that is not known.
    var hasSentGoAway: Bool? {
        connection.writtenSinceInput.map { $0 >= Self.goAwayBytes + Connection.leastProtection(tlsVersion) }
    }

    /// True if libcurl has closed the connection by itself, after a GOAWAY.
    var wasClosedWithGoAway: Bool {
        !multi.knows(connection) && connection.wasOpenWhenClosed && hasSentGoAway == true
    }

    /// True if libcurl may have ended the connection for an error in what has come (``Engine/hidesConnectionErrors``). It has written
    /// a GOAWAY then, and no request shares the connection any more.
    func mayHideError(ofSharing transfer: Transfer) -> Bool {
        guard Engine.hidesConnectionErrors, !multi.isShared(connection, besides: transfer) else { return false }
        return hasSentGoAway ?? true
    }
}
