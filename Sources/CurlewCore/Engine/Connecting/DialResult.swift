/// A connected socket. Its receiver owns the descriptor, and closes it.
struct Dialled: Sendable {
    /// A non-blocking descriptor that `exec` closes and the poller does not watch.
    let descriptor: Int32
    /// The other end, as the system reports it.
    let peer: SocketAddress
    /// False for a socket that libcurl connects itself.
    var isConnected = true
    /// The time until the addresses were known.
    let nameLookUp: Duration
    /// The time from the start of the dial until the socket was connected.
    let connected: Duration
}

/// The reason why a dial has no connected socket.
enum DialFailure: Error, Sendable {
    enum Phase: Sendable {
        case nameLookUp
        case connecting
    }

    /// The name has no address.
    case name(NameFailure)
    /// The gate refused every address; the last one is given.
    case forbidden(SocketAddress)
    /// No address could be connected to: the most informative `errno`, and the tried addresses.
    case connect(Int32, tried: [SocketAddress])
    /// The system has no descriptor or no memory for a socket (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), and no attempt
    /// is open.
    case noDescriptor(Int32)
    /// The poller cannot watch a socket, and no other attempt is open.
    case unwatchable(CurlewError)
    /// The socket is connected, but memory for it is missing, or the session has ended.
    case unusable(CurlewError)
    /// The deadline has passed.
    case timeout(Phase)
    /// The local interface does not exist, or matches no address.
    case interface(String)
}
