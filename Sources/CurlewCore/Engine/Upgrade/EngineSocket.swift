internal import CLibcurl
internal import CurlewPlatform

/// The owner of an ``EngineSocket``.
protocol EngineSocketOwner: AnyObject {
    /// Handles a socket that may be readable or writable. It is called on the loop, outside of libcurl.
    func socketIsReady(canRead: Bool, canWrite: Bool)
    /// Handles a socket that cannot be watched. It is called during ``EngineSocket/watch(reading:writing:)``.
    func socketFailed(_ error: CurlewError)
}

/// The socket of a connection that libcurl has opened and does not use (`CURLOPT_CONNECT_ONLY`). It carries bytes in
/// both directions, through libcurl's TLS.
///
/// The handle owns the connection, and closes it when the handle is removed from its multi handle. The socket must be
/// read until ``Received/nothing``, because TLS may hold bytes that the system does not report. Not `Sendable`: it
/// never leaves its loop's thread.
final class EngineSocket: SocketHandler {
    /// The result of reading.
    enum Received {
        case bytes(Int)
        /// The socket has no bytes at present.
        case nothing
        /// The peer has ended its side.
        case end
        case failed(CURLcode)
    }

    /// The result of writing.
    enum Sent {
        case bytes(Int)
        /// The socket accepts no bytes at present.
        case nothing
        case failed(CURLcode)
    }

    private let easy: EasyHandle
    let connection: Connection
    private let core: LoopCore
    private weak var owner: (any EngineSocketOwner)?
    private var isEnded = false
    /// True if TLS protects the connection to the server or to its proxy.
    private let isEncrypted: Bool
    /// True if the system is called directly, which is possible without TLS. libcurl searches all its connections for
    /// the socket in each call. It must send the first bytes, because until then the connection counts as unused, and
    /// libcurl closes an unused connection that has received bytes.
    private var isDirect = false
    /// True if the last read has emptied the socket, and no event has reported further bytes. A read without TLS then
    /// needs no system call.
    private var isDrained = false

    init(_ easy: EasyHandle, _ connection: Connection, isEncrypted: Bool, owner: any EngineSocketOwner) {
        self.easy = easy
        self.connection = connection
        self.isEncrypted = isEncrypted
        self.owner = owner
        core = easy.multi.core
    }

    func read(into space: UnsafeMutableRawBufferPointer) -> Received {
        guard !isEnded else { return .end }
        if isDirect { return receive(into: space) }
        var count = 0
        switch curl_easy_recv(easy.raw, space.baseAddress, space.count, &count) {
        case CURLE_OK: return count > 0 ? .bytes(count) : .end
        case CURLE_AGAIN: return .nothing
        case let code: return .failed(code)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Sent {
        guard !isEnded else { return .failed(CURLE_SEND_ERROR) }
        guard !bytes.isEmpty else { return .bytes(0) }
        if isDirect { return send(bytes) }
        var count = 0
        switch curl_easy_send(easy.raw, bytes.baseAddress, bytes.count, &count) {
        case CURLE_OK:
            isDirect = !isEncrypted
            return count > 0 ? .bytes(count) : .nothing
        case CURLE_AGAIN: return .nothing
        case let code: return .failed(code)
        }
    }

    private func receive(into space: UnsafeMutableRawBufferPointer) -> Received {
        guard !isDrained else { return .nothing }
        while true {
            let count = recv(connection.descriptor, space.baseAddress, space.count, 0)
            if count >= 0 {
                isDrained = count > 0 && count < space.count
                return count > 0 ? .bytes(count) : .end
            }
            switch errno {
            case EAGAIN:
                isDrained = true
                return .nothing
            case EINTR: continue
            default: return .failed(CURLE_RECV_ERROR)
            }
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> Sent {
        while true {
            let count = CurlewPlatform.send(connection.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return count > 0 ? .bytes(count) : .nothing }
            switch errno {
            case EAGAIN: return .nothing
            case EINTR: continue
            default: return .failed(CURLE_SEND_ERROR)
            }
        }
    }

    /// Ends the sending side, which is possible only without TLS.
    func shutDownOutput() { if !isEnded { shutdown(connection.descriptor, Int32(SHUT_WR)) } }

    /// Sets the events that the owner waits for.
    func watch(reading: Bool, writing: Bool) {
        guard !isEnded else { return }
        let events = (reading ? Readiness.input : 0) | (writing ? Readiness.output : 0)
        guard let problem = core.poller.watch(connection.descriptor, for: events, handler: self) else { return }
        owner?.socketFailed(problem)
    }

    /// Ends the use of the socket, which is closed with its handle.
    func end() {
        guard !isEnded else { return }
        isEnded = true
        core.poller.forget(connection.descriptor, of: self)
    }

    func socketReady(_ descriptor: Int32, events: UInt32) {
        let canRead = events & (Readiness.input | Readiness.hangUp | Readiness.error) != 0
        if canRead {
            isDrained = false
            connection.noteInput()
        }
        owner?.socketIsReady(canRead: canRead, canWrite: events & (Readiness.output | Readiness.error) != 0)
    }
}
