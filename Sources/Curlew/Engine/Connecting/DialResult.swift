/// A socket that is connected. Its descriptor belongs to the receiver, who closes it.
struct Dialled: Sendable {
    /// Non-blocking, closed by `exec`, and not watched by the poller.
    let descriptor: Int32
    /// The other end, as the system names it.
    let peer: SocketAddress
    /// False for a socket that libcurl is to connect itself.
    var isConnected = true
    /// The time until the addresses were known.
    let nameLookUp: Duration
    /// The time from the start of the dial until the socket was connected.
    let connected: Duration
}

/// The reason why a dial got no connected socket.
enum DialFailure: Error, Sendable {
    enum Phase: Sendable {
        case nameLookUp
        case connecting
    }

    /// The name has no address.
    case name(NameFailure)
    /// The gate refused every address; the last one is given.
    case forbidden(SocketAddress)
    /// No address could be connected to: the most telling `errno`, and the addresses that were tried.
    case connect(Int32, tried: [SocketAddress])
    /// The system has no descriptor or no memory for a socket (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), and no attempt is open.
    case noDescriptor(Int32)
    /// The poller cannot watch a socket, and no other attempt is open.
    case unwatchable(CurlewError)
    /// The socket is connected, and there is no memory to use it, or the session has ended.
    case unusable(CurlewError)
    /// The deadline has passed.
    case timeout(Phase)
    /// The local interface does not exist, or does not fit any address.
    case interface(String)
}
