internal import CLinux
internal import CurlewPlatform

/// A socket that connects to one address.
///
/// Its dial owns it, and closes it at the latest at the end of the dial.
final class DialAttempt: SocketHandler {
    enum Progress {
        case connected
        /// The poller reports when the socket is ready.
        case waiting
        case failed(Int32)
    }

    enum Fault: Error {
        case noDescriptor(Int32)
        case unwatchable(CurlewError)
        case interface(String)
    }

    let address: SocketAddress
    private let core: LoopCore
    private unowned let dial: Dial
    /// The descriptor; -1 after it is closed or released.
    private var descriptor: Int32
    /// The error of making the socket, as for a family that the system does not support; 0 for none.
    private let socketFault: Int32

    /// Makes a socket; ``connect()`` comes next.
    /// - Parameter makeSocket: Makes a non-blocking stream socket of a family, or returns -1 and sets `errno`.
    init(
        _ address: SocketAddress, of dial: Dial, on core: LoopCore, makeSocket: (Int32) -> Int32
    ) throws(Fault) {
        self.address = address
        self.core = core
        self.dial = dial
        descriptor = makeSocket(address.family)
        socketFault = descriptor < 0 ? errno : 0
        if Self.isLack(socketFault) { throw .noDescriptor(socketFault) }
    }

    deinit { close() }

    static func makeSocket(_ family: Int32) -> Int32 {
        // The numbers of SOCK_NONBLOCK and SOCK_CLOEXEC on Linux.
        CurlewPlatform.socket(family, Int32(curlew_socket_stream) | O_NONBLOCK | O_CLOEXEC, 0)
    }

    static func makeDatagramSocket(_ family: Int32) -> Int32 {
        CurlewPlatform.socket(family, Int32(curlew_socket_datagram) | O_NONBLOCK | O_CLOEXEC, 0)
    }

    private static func isLack(_ systemError: Int32) -> Bool {
        systemError == EMFILE || systemError == ENFILE || systemError == ENOBUFS || systemError == ENOMEM
    }

    /// Sets the options of a socket over IP, and its local end.
    /// - Parameter hygiene: The probes of TCP; nil for a socket of datagrams.
    func prepare(_ hygiene: ConnectionHygiene?, from localEnd: LocalEnd?) throws(Fault) {
        guard descriptor >= 0, case .ip(let host, _) = address else { return }
        if let hygiene {
            var isOn: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            hygiene.setProbes(on: descriptor, family: address.family)
        }
        do {
            try localEnd?.bind(descriptor, towards: host)
        } catch {
            switch error {
            case .unusable(let words): throw .interface(words)
            case .noDescriptor(let problem): throw .noDescriptor(problem)
            }
        }
    }

    func connect() throws(Fault) -> Progress {
        guard socketFault == 0 else { return .failed(socketFault) }
        let status = address.withSystemForm { CurlewPlatform.connect(descriptor, $0, $1) }
        guard status != 0 else { return .connected }
        let problem = errno
        switch problem {
        case EINPROGRESS, EINTR: return try watch()
        case _ where Self.isLack(problem): throw .noDescriptor(problem)
        default: return .failed(problem)
        }
    }

    private func watch() throws(Fault) -> Progress {
        if let problem = core.poller.watch(descriptor, for: Readiness.output, handler: self) {
            throw .unwatchable(problem)
        }
        return .waiting
    }

    func socketReady(_ descriptor: Int32, events: UInt32) { dial.attemptReady(self) }

    /// The result of a ready socket.
    var outcome: Progress {
        var problem: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &length) == 0 else { return .failed(errno) }
        return problem == 0 ? .connected : .failed(problem)
    }

    /// The other end of a connected socket over IP.
    ///
    /// If no process listens, the system may choose the remote port as the local port too, and so connect the socket to
    /// itself. Such a socket is rejected, and closed with a reset: otherwise it would occupy the port for a minute.
    func peer() -> Result<SocketAddress, SystemFault> {
        guard let ends = SocketAddress.ends(of: descriptor) else { return .failure(SystemFault(number: errno)) }
        guard ends.local == ends.peer else { return .success(ends.peer) }
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        return .failure(SystemFault(number: ECONNREFUSED))
    }

    struct SystemFault: Error {
        let number: Int32
    }

    /// Transfers the descriptor to the caller.
    func release() -> Int32 {
        defer { descriptor = -1 }
        core.poller.forget(descriptor)
        return descriptor
    }

    func close() {
        guard descriptor >= 0 else { return }
        _ = CurlewPlatform.close(release())
    }
}
