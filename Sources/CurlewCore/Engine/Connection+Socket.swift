internal import CLinux
internal import CurlewPlatform

/// The state of a connection's socket, as the system reports it.
extension Connection {
    /// True if the peer appears not to have ended the connection; input may still be unread.
    var isOpenAtPeer: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
    }

    /// True if nothing but the end of the connection can be read: the end of the stream, or the alert of TLS before it.
    /// The alert of TLS 1.3 has the type of application data, and no frame is as short.
    var isEndWithoutFrames: Bool {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            let count = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            guard count > 0 else { return count == 0 }
            guard count >= 5, count == 5 + Int(bytes[3]) << 8 + Int(bytes[4]) else { return false }
            return bytes[0] == 21 || (bytes[0] == 23 && count == 24)
        }
    }

    /// The number of bytes written to the socket; nil if it is unknown.
    var writtenBytes: Int64? {
        guard !isQUIC else { return nil }
        let count = curlew_written_bytes(descriptor)
        return count < 0 ? nil : count
    }

    /// The number of written bytes that the peer's system has not acknowledged; nil if it is unknown.
    var unconfirmedBytes: Int? {
        guard port > 0, !isQUIC else { return nil }
        let count = curlew_unconfirmed_bytes(descriptor)
        return count < 0 ? nil : Int(count)
    }

    /// True if input, or its end, can be read although no request is running.
    var hasStrayInput: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }
}
