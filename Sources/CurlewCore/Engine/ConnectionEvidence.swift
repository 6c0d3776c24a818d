/// The evidence of how an HTTP/2 connection has ended: its state, and the bytes that were sent over it. libcurl reports
/// little of it.
struct ConnectionEvidence {
    /// The size of a GOAWAY frame without debug data (RFC 9113 §6.8).
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

    /// True if libcurl has written at least the size of a GOAWAY since the last input; nil if that is unknown.
    var hasSentGoAway: Bool? {
        connection.writtenSinceInput.map { $0 >= Self.goAwayBytes + Connection.leastProtection(tlsVersion) }
    }

    /// True if the connection was closed because of an error in its input, and not together with the end of a stream.
    /// After its GOAWAY libcurl has closed it by itself, or the peer has ended it without a further frame.
    /// - Parameter time: The time of the stream's last bytes.
    func wasClosedByError(after time: Instant) -> Bool {
        guard !multi.knows(connection), hasSentGoAway == true else { return false }
        return connection.wasOpenWhenClosed || connection.endedWithoutFrames.map { time <= $0 } == true
    }

    /// True if libcurl may have ended the connection because of an error in its input
    /// (``Engine/hidesConnectionErrors``). It has then written a GOAWAY, and no other request shares the connection.
    func mayHideError(ofSharing transfer: Transfer) -> Bool {
        guard Engine.hidesConnectionErrors, !multi.isShared(connection, besides: transfer) else { return false }
        return hasSentGoAway ?? true
    }
}
