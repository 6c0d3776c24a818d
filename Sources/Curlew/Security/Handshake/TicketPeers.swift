internal import COpenSSL

/// The peers that gave session tickets under a policy. A libcurl that keeps sessions as bytes makes new objects of OpenSSL's
/// from them, which have lost what ``HandshakeData`` gave the old ones; the ticket is still the same.
final class TicketPeers: Sendable {
    private struct Known {
        var peers: [[UInt8]: VerifiedPeer] = [:]
        /// The tickets in the order that they came in; from `next` on the oldest.
        var tickets: [[UInt8]] = []
        var next = 0
    }

    /// The most tickets that are remembered; then the oldest is forgotten.
    private static let limit = 256

    private let known = Guarded(Known())

    func insert(_ peer: VerifiedPeer, for session: OpaquePointer) {
        guard let ticket = Self.ticket(of: session) else { return }
        known.withLock { known in
            guard known.peers.updateValue(peer, forKey: ticket) == nil else { return }
            if known.tickets.count < Self.limit { return known.tickets.append(ticket) }
            known.peers[known.tickets[known.next]] = nil
            known.tickets[known.next] = ticket
            known.next = (known.next + 1) % Self.limit
        }
    }

    func peer(for session: OpaquePointer) -> VerifiedPeer? {
        Self.ticket(of: session).flatMap { ticket in known.withLock { $0.peers[ticket] } }
    }

    /// What the server will be shown: its ticket, or before TLS 1.3 the number of the session.
    private static func ticket(of session: OpaquePointer) -> [UInt8]? {
        var start: UnsafePointer<UInt8>?
        var count = 0
        SSL_SESSION_get0_ticket(session, &start, &count)
        if count == 0 {
            var length: UInt32 = 0
            start = SSL_SESSION_get_id(session, &length)
            count = Int(length)
        }
        guard let start, count > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: count))
    }
}
