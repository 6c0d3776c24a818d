internal import CLibcurl
internal import Glibc

/// A multi handle on a loop: the pool of connections, the pool of easy handles, and the transfers under way.
///
/// `@unchecked Sendable`: it is made anywhere, and from then on touched on its loop's thread alone.
final class MultiHandle: LoopTimer, @unchecked Sendable {
    let core: LoopCore
    let names = FieldNameCache()
    let heads = HeadMemory()
    private let limits: ConnectionLimits
    private var raw: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var spareHandles: [EasyHandle] = []
    @exclusivity(unchecked) private(set) var active: [Transfer] = []
    @exclusivity(unchecked) private var touched: [Transfer] = []
    @exclusivity(unchecked) private var telling: [Transfer] = []
    private var hasNews = false
    private(set) var isClosed = false
    /// Whether it only waits for its transfers to end.
    private var isRetired = false

    @exclusivity(unchecked) private var connections: [Int32: Connection] = [:]
    /// Opened, but not yet known by their local port.
    @exclusivity(unchecked) private var unnamed: [Int32: Connection] = [:]
    @exclusivity(unchecked) private var named: [Int32: [Connection]] = [:]

    /// Authorities that a cleartext HTTP/2 connection was open to when last seen (``Transfer/mustJoinHTTP2``). Bounded.
    var joinable: Set<String> = []

    /// Authorities with a new HTTP/2 connection whose first answer takes long (``Engine/joinsAfterFirstAnswer``).
    var slowOrigins = CountedAuthorities()

    /// The limit that the session's transfers share; nil if there is none.
    var rate: SharedRate?

    /// Bytes of bodies given to the engine so far; it may wrap.
    var uploadedBytes = 0

    /// Whether libcurl is limited in its connections, so that it closes an idle one before it opens another.
    private var isMakingRoom = false

    /// Why the last socket could not be made; libcurl does not keep it. 0 after a success.
    var socketError: Int32 = 0

    private let idleTimer = IdleTimer()
    private var idleSince = Instant(nanoseconds: 0)

    private static let spareLimit = 256

    /// - Throws: ``CurlewError`` if the engine cannot be used.
    init(core: LoopCore, limits: ConnectionLimits) throws {
        try Engine.start()
        self.core = core
        self.limits = limits
        super.init()
        core.attach()
    }

    deinit {
        // Only one that was never used gets here without `close`.
        if !isClosed { core.detach() }
    }

    // MARK: Transfers

    /// How many transfers are under way.
    var activeCount: Int { active.count }

    func hasTransfer(where isMeant: (Transfer) -> Bool) -> Bool { active.contains(where: isMeant) }

    /// How many connections are open, idle ones included.
    var connectionCount: Int { connections.values.count { $0.isTracked } }

    /// Begins an attempt of `transfer`: gives it a handle and hands it to the engine.
    func begin(_ transfer: Transfer) throws {
        let multi = try engine()
        let easy = try spareHandle(for: transfer) ?? EasyHandle(multi: self)
        easy.transfer = transfer
        do {
            try transfer.configure(easy)
            let code = curl_multi_add_handle(multi, easy.raw)
            guard code == CURLM_OK else {
                throw CurlewError(.engineFailed, String(cString: curl_multi_strerror(code)))
            }
        } catch {
            recycle(easy)
            throw error
        }
        transfer.position = active.count
        active.append(transfer)
    }

    /// A handle that has served before, if it reads into a buffer of the right size.
    private func spareHandle(for transfer: Transfer) -> EasyHandle? {
        guard let last = spareHandles.popLast() else { return nil }
        let size = transfer.request.options.values.clampedReadBufferSize
        return !Engine.allocatesReadBuffers || last.readBufferSize ?? size == size ? last : nil
    }

    /// Takes an attempt away from the engine, which closes its connection unless the exchange was complete.
    func end(_ transfer: Transfer, _ easy: EasyHandle) {
        guard transfer.position >= 0 else { return }
        let last = active.removeLast()
        if last !== transfer {
            active[transfer.position] = last
            last.position = transfer.position
        }
        transfer.position = -1
        if let raw { curl_multi_remove_handle(raw, easy.raw) }
        recycle(easy)
        if active.isEmpty { scheduleIdleEnd() }
    }

    /// Lets a transfer that waits for a connection look for one again, and open one rather than wait.
    /// - Returns: Why it cannot go on.
    func reconsider(_ transfer: Transfer) -> CurlewError? {
        guard let raw, let easy = transfer.easy else { return nil }
        curl_multi_remove_handle(raw, easy.raw)
        do { try easy.waitToJoin(false) } catch { return error as? CurlewError }
        let code = curl_multi_add_handle(raw, easy.raw)
        return code == CURLM_OK ? nil : CurlewError(.engineFailed, String(cString: curl_multi_strerror(code)))
    }

    private func recycle(_ easy: EasyHandle) {
        easy.clear()
        guard spareHandles.count < Self.spareLimit, !isClosed, !easy.isSpent else { return }
        spareHandles.append(easy)
    }

    /// Notes that a transfer has news for its observer.
    func touch(_ transfer: Transfer) {
        guard !transfer.isTouched else { return }
        transfer.isTouched = true
        touched.append(transfer)
        haveNews()
    }

    /// Notes that the engine has worked, and may have finished something.
    func haveNews() {
        guard !hasNews else { return }
        hasNews = true
        core.schedule(self)
    }

    /// Collects what the engine has finished and tells the observers what is new.
    func tellNews() {
        hasNews = false
        collect()
        if isMakingRoom, socketError == 0 || active.isEmpty { endMakingRoom() }
        swap(&touched, &telling)
        for transfer in telling {
            transfer.isTouched = false
            transfer.deliver()
        }
        telling.removeAll(keepingCapacity: telling.capacity <= 4096)
    }

    private func collect() {
        guard let raw else { return }
        var left: Int32 = 0
        while let message = curl_multi_info_read(raw, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let result = curlew_message_result(message)
            guard let easy = Self.easyHandle(message.pointee.easy_handle) else { continue }
            easy.transfer?.engineFinished(result)
        }
    }

    private static func easyHandle(_ raw: UnsafeMutableRawPointer?) -> EasyHandle? {
        var context: UnsafeMutableRawPointer?
        guard let raw, curlew_easy_get_private(raw, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: The engine

    private func engine() throws -> UnsafeMutableRawPointer {
        guard !isClosed else { throw CurlewError(.sessionInvalidated, "the session has ended") }
        if let raw { return raw }
        guard let made = curl_multi_init() else {
            throw CurlewError(.resourcesExhausted, "no memory for a multi handle")
        }
        raw = made
        core.engines.append(self)
        let own = Unmanaged.passUnretained(self).toOpaque()
        try check(curlew_multi_set_socket(made, EngineCallbacks.socket))
        try check(curlew_multi_set_pointer(made, CURLMOPT_SOCKETDATA, own))
        try check(curlew_multi_set_timer(made, EngineCallbacks.timer))
        try check(curlew_multi_set_pointer(made, CURLMOPT_TIMERDATA, own))
        try check(curlew_multi_set_long(made, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)))
        try check(curlew_multi_set_long(made, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, limits.perHost)))
        try check(curlew_multi_set_long(made, CURLMOPT_MAX_TOTAL_CONNECTIONS, max(0, limits.total)))
        try check(curlew_multi_set_long(made, CURLMOPT_MAXCONNECTS, max(1, limits.idle)))
        try check(curlew_multi_set_long(made, CURLMOPT_MAX_CONCURRENT_STREAMS, max(1, limits.streamsPerConnection)))
        return made
    }

    private func check(_ code: CURLMcode) throws {
        guard code != CURLM_OK else { return }
        throw CurlewError(.unsupported, "libcurl refuses an option: \(String(cString: curl_multi_strerror(code)))")
    }

    /// Lets the engine work on a socket.
    func act(on descriptor: Int32, _ action: Int32) {
        guard let raw else { return }
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, action, &running)
        haveNews()
    }

    /// The engine's own timer.
    override func fire() { act(on: CURL_SOCKET_TIMEOUT, 0) }

    func timerChanged(milliseconds: Int) {
        let wait = Int64(min(milliseconds, 1 << 40)) * 1_000_000
        core.timers.set(self, to: milliseconds < 0 ? .distantFuture : core.now.advanced(by: wait))
    }

    // MARK: Sockets

    /// Whether the connection is still one of ours.
    func knows(_ connection: Connection) -> Bool { connections[connection.descriptor] === connection }

    func connection(_ descriptor: Int32) -> Connection? { connections[descriptor] }

    func opened(_ descriptor: Int32) {
        closing(descriptor)
        socketError = 0
        let connection = Connection(descriptor: descriptor, isTracked: true, multi: self)
        connections[descriptor] = connection
        unnamed[descriptor] = connection
    }

    func closing(_ descriptor: Int32) {
        core.poller.forget(descriptor)
        guard let connection = connections.removeValue(forKey: descriptor) else { return }
        core.timers.remove(connection)
        unnamed[descriptor] = nil
        guard let port = connection.port else { return }
        named[port]?.removeAll { $0 === connection }
        if named[port]?.isEmpty == true { named[port] = nil }
    }

    /// Files the connection under its local port, if it has one by now. Unix sockets have none, which counts as 0.
    private func name(_ connection: Connection) {
        let port = connection.localPort
        guard port != 0 || connection.isUnixSocket else { return }
        unnamed[connection.descriptor] = nil
        connection.port = port
        named[port, default: []].append(connection)
    }

    func interestChanged(easy: UnsafeMutableRawPointer?, descriptor: Int32, interest: Int32) {
        let connection = connections[descriptor] ?? Connection(descriptor: descriptor, isTracked: false, multi: self)
        if interest == CURL_POLL_REMOVE {
            connection.user = nil
            if connection.isTracked, !connection.isUsed, !connection.isOpen {
                closing(descriptor)
            } else if connection.isTracked {
                connection.watch(0)
            } else {
                connection.watch(0)
                core.poller.forget(descriptor)
                connections[descriptor] = nil
            }
            return
        }
        connections[descriptor] = connection
        connection.user = Self.easyHandle(easy)
        connection.user?.lastConnection = connection
        if connection.isTracked, connection.port == nil { name(connection) }
        var events: UInt32 = 0
        if interest & CURL_POLL_IN != 0 { events |= Readiness.input }
        if interest & CURL_POLL_OUT != 0 { events |= Readiness.output }
        connection.watch(events)
    }

    /// The connections that a request about to be sent from `localPort` may be on: one, unless a port number is used
    /// towards two peers at once, or there is none, as with Unix sockets.
    func candidates(localPort: Int32, for easy: EasyHandle) -> [Connection] {
        let port = max(0, localPort)
        // Opened in this very step of the engine's, or never connected.
        if !unnamed.isEmpty {
            for connection in Array(unnamed.values) where connection.isOpen { name(connection) }
        }
        guard let known = named[port], known.count > 1 else { return named[port] ?? [] }
        // A new one that the engine has last spoken of for this handle is the handle's own.
        if let newest = easy.lastConnection, newest.port == port, !newest.isUsed, newest.isOpen { return [newest] }
        return known.filter { $0.isUsed || $0.isOpen }
    }

    // MARK: Ends

    /// After a time without any transfer the engine is let go, and with it every idle connection.
    private func scheduleIdleEnd() {
        idleSince = core.now
        if idleTimer.owner == nil { idleTimer.owner = self }
        guard isRetired || idleTimer.deadline == .distantFuture else { return }
        core.timers.set(idleTimer, to: idleEnd)
    }

    fileprivate func idleTimerFired() {
        guard active.isEmpty, !isClosed else { return }
        if isRetired { return close() }
        if idleEnd <= core.now { closeIdleConnections() } else { core.timers.set(idleTimer, to: idleEnd) }
    }

    private var idleEnd: Instant {
        isRetired ? idleSince : idleSince.advanced(by: max(0, limits.idleLifetime.nanosecondsClamped))
    }

    /// Closes every connection, if none is in use.
    func closeIdleConnections() {
        guard active.isEmpty, let raw else { return }
        core.timers.remove(self)
        self.raw = nil
        core.engines.removeAll { $0 === self }
        isMakingRoom = false
        joinable.removeAll()
        spareHandles.removeAll()
        curl_multi_cleanup(raw)
        core.timers.remove(self)
        EngineMemory.releaseKept()
    }

    /// Gives up idle connections for a new one, as the process has no descriptor left: those of the loop's sessions that are
    /// idle as a whole now, one of this one's when the next connection is begun.
    /// - Returns: Whether there are any.
    func makeRoom() -> Bool {
        var hasRoom = false
        for other in core.engines where other !== self && other.active.isEmpty && other.connectionCount > 0 {
            other.closeIdleConnections()
            hasRoom = true
        }
        guard !hasRoom else { return true }
        let hasIdle = connections.values.contains { $0.isTracked && $0.isUsed && $0.user == nil }
        // Where it counts anew after closing one, a limit of one would let the request wait for those in use.
        let limit = Engine.recountsConnections ? max(1, connectionCount) : 1
        guard hasIdle, let raw, curlew_multi_set_long(raw, CURLMOPT_MAX_TOTAL_CONNECTIONS, limit) == CURLM_OK else {
            return false
        }
        isMakingRoom = true
        return true
    }

    private func endMakingRoom() {
        guard let raw else { return }
        isMakingRoom = curlew_multi_set_long(raw, CURLMOPT_MAX_TOTAL_CONNECTIONS, max(0, limits.total)) != CURLM_OK
    }

    /// Lets the transfers under way end on their connections, and closes it then, or at once if there are none. No other
    /// may begin on it.
    func retire() {
        isRetired = true
        guard !active.isEmpty else { return close() }
        endLost()
        for connection in connections.values where connection.isUsed && mayEnd(connection) { connection.giveUp() }
    }

    /// Ends the connections whose local address the machine does not have any more, as nothing can arrive there, and what
    /// is under way on them.
    func endLost() {
        let lost = connections.values.filter { $0.isTracked && !$0.hasLocalAddress }
        guard !lost.isEmpty else { return }
        // What has ended is not lost.
        tellNews()
        for connection in lost where knows(connection) {
            for transfer in active where transfer.connection === connection {
                transfer.fail(CurlewError(.connectionLost, "the machine has lost the address of the connection"))
            }
            // The end of a connection is that of a body without a length, which would look whole.
            guard knows(connection), !hasTransfer(where: \.isSomewhere) else { continue }
            connection.giveUp()
        }
    }

    /// Ends every transfer with an error, closes every connection and lets the loop go. Nothing begins afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        for transfer in active { transfer.fail(CurlewError(.sessionInvalidated, "the session has ended")) }
        tellNews()
        closeIdleConnections()
        spareHandles.removeAll()
        core.timers.remove(idleTimer)
        core.detach()
    }
}

private final class IdleTimer: LoopTimer {
    weak var owner: MultiHandle?

    override func fire() { owner?.idleTimerFired() }
}
