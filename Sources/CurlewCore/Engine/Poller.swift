/// The receiver of a socket's readiness.
protocol SocketHandler: AnyObject {
    /// Called on the loop. `events` is a mask of ``Readiness``.
    func socketReady(_ descriptor: Int32, events: UInt32)
}

/// The poller of this platform. The loop names the type, so that its calls are direct.
typealias SystemPoller = EpollPoller

/// The part of a loop that depends on the system: it waits for sockets, and another thread can interrupt it.
///
/// All methods but `wake` are called by the thread that runs the loop. A socket stays watched until it is forgotten.
protocol Poller: AnyObject, Sendable {
    init() throws

    /// Interrupts `wait`. May be called from any thread.
    func wake()

    /// Waits for ready sockets, at most this number of milliseconds (-1 means forever).
    /// - Returns: The number of ready sockets.
    func wait(milliseconds: Int32) -> Int

    /// Calls the handlers of the sockets that the last wait returned.
    func deliver(_ count: Int)

    /// Sets the wanted events of a socket: a mask of ``Readiness``; 0 for none at present.
    /// - Returns: The reason why the socket cannot be watched; nil after success.
    func watch(_ descriptor: Int32, for events: UInt32, handler: any SocketHandler) -> CurlewError?

    /// Forgets a closed socket, unless its descriptor is already watched for another handler.
    func forget(_ descriptor: Int32, of handler: any SocketHandler)

    /// Forgets a socket that is about to be closed.
    func forget(_ descriptor: Int32)
}
