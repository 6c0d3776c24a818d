internal import CLibcurl
internal import CMemory
internal import Glibc

/// A multi handle on a loop: the transfers under way, and the turns in which their observers are notified. Its connections
/// are a ``ConnectionTable``, its easy handles an ``EasyHandlePool``.
///
/// `@unchecked Sendable`: it is made anywhere, and from then on touched on its loop's thread alone.
final class MultiHandle: LoopTimer, @unchecked Sendable {
    let core: LoopCore
    let heads = ResponseHeadCache()
    private let limits: ConnectionLimits
    let hygiene: ConnectionHygiene
    private var raw: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var pool = EasyHandlePool()
    @exclusivity(unchecked) private(set) var active: [Transfer] = []
    /// Transfers with something new for their observers, and those whose observers are being notified.
    @exclusivity(unchecked) private var changed: [Transfer] = []
    @exclusivity(unchecked) private var notifying: [Transfer] = []
    @exclusivity(unchecked) private var isNotificationScheduled = false
    private(set) var isClosed = false
    /// True if it only waits for its transfers to end.
    private var isRetired = false

    @exclusivity(unchecked) private var connections = ConnectionTable()

    /// Authorities that a cleartext HTTP/2 connection was open to when last seen (``Engine/restartsHTTP2``). Bounded.
    var joinable: Set<String> = []
    private static let joinableLimit = 1000

    /// Authorities with a new HTTP/2 connection whose first answer takes long (``Engine/joinsAfterFirstAnswer``).
    var slowOrigins = CountedAuthorities()

    /// The generations of connections that new requests over TLS look for.
    @exclusivity(unchecked) private var generations = ConnectionGenerations()

    /// The limit that the session's transfers share; nil if there is none.
    var rate: SharedRate?

    /// Bytes of bodies given to the engine so far; it may wrap.
    var uploadedBytes = 0

    /// True if libcurl is limited in its connections, so that it closes an idle one before it opens another.
    private var isMakingRoom = false

    /// Why the last socket could not be made; libcurl does not keep it. 0 after a success.
    var socketError: Int32 = 0

    /// Handles whose connecting socket libcurl has left in this call (``Engine/startsNextAddressLate``).
    @exclusivity(unchecked) private var leftAddresses: [EasyHandle] = []
    /// True while libcurl works. Outside of that it leaves sockets because a transfer is taken away from it.
    @exclusivity(unchecked) private var isActing = false

    private let idleTimer = IdleTimer()
    private var idleSince = Instant(nanoseconds: 0)

    /// In milliseconds: longer than anything waits, and short enough to count in nanoseconds.
    private static let longestWait = 1 << 40

    /// The most slots that a list keeps while it is empty.
    private static let keptCapacity = 4096

    /// For so long a connection waits for another request, whose HEADERS would take along the reset that it owes.
    private static let resetPatience: Int64 = 1_000_000_000

    /// - Throws: ``CurlewError`` if the engine cannot be used.
    init(core: LoopCore, limits: ConnectionLimits) throws {
        try Engine.start()
        self.core = core
        self.limits = limits
        hygiene = ConnectionHygiene(limits)
        super.init()
        core.attach()
    }

    deinit {
        // Only one that was never used gets here without `close`.
        if !isClosed { core.detach() }
    }

    // MARK: Transfers

    /// The number of transfers under way.
    var activeCount: Int { active.count }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { connections.trackedCount }

    /// Transfers that wait for a connection, those that have one, and connections in use, idle and on their way.
    struct Figures {
        var waiting = 0
        var streams = 0
        var active = 0
        var idle = 0
        var pending = 0
    }

    /// The figures of this moment.
    var figures: Figures {
        var figures = Figures()
        var used: Set<ObjectIdentifier> = []
        for transfer in active {
            if transfer.isWaiting {
                figures.waiting += 1
            } else if let connection = transfer.connection {
                figures.streams += 1
                used.insert(ObjectIdentifier(connection))
            }
        }
        for connection in connections.all where connection.isTracked && !connection.isGivenUp {
            if used.contains(ObjectIdentifier(connection)) {
                figures.active += 1
            } else if connection.isUsed {
                figures.idle += 1
            } else if connection.isOpen {
                figures.pending += 1
            }
        }
        return figures
    }

    /// Begins an attempt of `transfer`: gives it a handle and hands it to the engine.
    func begin(_ transfer: Transfer) throws {
        let multi = try engine()
        let easy = try pool.take(for: transfer.request) ?? EasyHandle(multi: self)
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
    private func reconsider(_ transfer: Transfer) -> CurlewError? {
        guard let raw, let easy = transfer.easy else { return nil }
        curl_multi_remove_handle(raw, easy.raw)
        do { try easy.waitToJoin(false) } catch { return error as? CurlewError }
        let code = curl_multi_add_handle(raw, easy.raw)
        return code == CURLM_OK ? nil : CurlewError(.engineFailed, String(cString: curl_multi_strerror(code)))
    }

    private func recycle(_ easy: EasyHandle) {
        easy.clear()
        if !isClosed { pool.put(easy) }
    }

    /// Makes the transfers that wait for a connection to `authority` look for one again.
    func reconsiderWaiting(for authority: String) {
        for transfer in active where transfer.waitsToJoin && transfer.request.uri.authority == authority {
            if let error = reconsider(transfer) { transfer.fail(error) }
        }
    }

    // MARK: Notifying

    /// Notes that a transfer has something new for its observer, who is notified at the end of the turn: this may be inside one
    /// of libcurl's callbacks, and more may come in this turn.
    func markChanged(_ transfer: Transfer) {
        guard !transfer.isChanged else { return }
        transfer.isChanged = true
        changed.append(transfer)
        scheduleNotification()
    }

    /// Notes that the engine has worked, and may have finished something.
    func scheduleNotification() {
        guard !isNotificationScheduled else { return }
        isNotificationScheduled = true
        core.scheduleNotification(by: self)
    }

    /// Collects what the engine has finished and notifies the observers of what is new.
    func notifyObservers() {
        isNotificationScheduled = false
        collect()
        if isMakingRoom, socketError == 0 || active.isEmpty { endMakingRoom() }
        swap(&changed, &notifying)
        for transfer in notifying {
            transfer.isChanged = false
            transfer.notifyObserver()
        }
        notifying.removeAll(keepingCapacity: notifying.capacity <= Self.keptCapacity)
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
        // libcurl takes 0 for its own 100, and what the server allows counts beside this.
        let streams = limits.streamsPerConnection > 0 ? limits.streamsPerConnection : Int(Int32.max)
        try check(
            curlew_multi_set_long(made, CURLMOPT_MAX_CONCURRENT_STREAMS, min(streams, Int(Int32.max))))
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
        isActing = true
        curl_multi_socket_action(raw, descriptor, action, &running)
        isActing = false
        scheduleNotification()
        if !leftAddresses.isEmpty { tryNextAddresses() }
    }

    private func tryNextAddresses() {
        let left = leftAddresses
        leftAddresses.removeAll(keepingCapacity: left.count <= Self.keptCapacity)
        for easy in left { easy.transfer?.tryNextAddress() }
    }

    /// The engine's own timer. libcurl does not ask for it again if it fires before its time by libcurl's clock, which may be by
    /// the time that a turn of the loop takes. So it is asked.
    override func fire() {
        act(on: CURL_SOCKET_TIMEOUT, 0)
        var milliseconds = -1
        guard deadline == .distantFuture, let raw, curl_multi_timeout(raw, &milliseconds) == CURLM_OK else { return }
        if milliseconds >= 0 { timerChanged(milliseconds: max(1, milliseconds)) }
    }

    func timerChanged(milliseconds: Int) {
        let wait = Int64(min(milliseconds, Self.longestWait)) * 1_000_000
        core.timers.set(self, to: milliseconds < 0 ? .distantFuture : core.now.advanced(by: wait))
    }

    // MARK: Sockets

    /// True if the connection is still one of ours.
    func knows(_ connection: Connection) -> Bool { connections[connection.descriptor] === connection }

    func connection(_ descriptor: Int32) -> Connection? { connections[descriptor] }

    func opened(_ descriptor: Int32) {
        closing(descriptor)
        socketError = 0
        connections.insert(Connection(descriptor: descriptor, isTracked: true, multi: self))
    }

    func closing(_ descriptor: Int32) {
        core.poller.forget(descriptor)
        guard let connection = connections.remove(descriptor) else { return }
        connection.noteEnd()
        core.timers.remove(connection)
    }

    func interestChanged(easy: UnsafeMutableRawPointer?, descriptor: Int32, interest: Int32) {
        let known = connections[descriptor]
        if interest & CURL_POLL_IN == 0 { known?.user?.transfer?.readingStopped(isOpen: !hasEnded(descriptor)) }
        let connection = known ?? Connection(descriptor: descriptor, isTracked: false, multi: self)
        if interest == CURL_POLL_REMOVE {
            if isActing, Engine.startsNextAddressLate, connection.isTracked, !connection.isUsed,
                let user = connection.user
            {
                leftAddresses.append(user)
            }
            connection.user = nil
            if connection.isTracked, !connection.isUsed, !connection.isOpen {
                closing(descriptor)
            } else if connection.isTracked {
                connection.watch(0)
            } else {
                connection.watch(0)
                core.poller.forget(descriptor)
                connections.remove(descriptor)
            }
            return
        }
        if known == nil { connections.insert(connection) }
        connection.user = Self.easyHandle(easy)
        connection.user?.lastConnection = connection
        if connection.isTracked, connection.port == nil { connections.name(connection) }
        var events: UInt32 = 0
        if interest & CURL_POLL_IN != 0 { events |= Readiness.input }
        if interest & CURL_POLL_OUT != 0 { events |= Readiness.output }
        connection.watch(events)
    }

    /// True if the peer has closed the connection, and all that it had sent was read.
    private func hasEnded(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    /// The connections that a request about to be sent from `localPort` may be on: one, unless a port number is used
    /// towards two peers at once, or there is none, as with Unix sockets.
    func candidates(localPort: Int32, for easy: EasyHandle) -> [Connection] {
        connections.candidates(localPort: localPort, newest: easy.lastConnection)
    }

    /// True if other transfers are on the connection.
    func isShared(_ connection: Connection, besides transfer: Transfer) -> Bool {
        active.contains { $0 !== transfer && $0.connection === connection }
    }

    /// True if another transfer uses the TLS connection: libcurl knows no session of a handle that has ended its exchange.
    /// - Parameter connection: nil if several may be meant.
    func isTaken(_ connection: Connection?, tlsSession: OpaquePointer, besides easy: EasyHandle) -> Bool {
        active.contains { transfer in
            guard connection == nil || transfer.connection === connection, let other = transfer.easy else {
                return false
            }
            return other !== easy && other.tlsSession == tlsSession
        }
    }

    /// True if transfers of HTTP/1.1 to the same authority are under way in clear text.
    func carriesHTTP11(to uri: CurlewURI) -> Bool {
        !uri.layout.isSecure
            && active.contains {
                $0.request.version != .http2PriorKnowledge && $0.request.uri.authority == uri.authority
                    && !$0.request.uri.layout.isSecure
            }
    }

    /// A server speaks HTTP/2 over cleartext connections that are open to it.
    func noteHTTP2(at authority: String) {
        if joinable.count < Self.joinableLimit { joinable.insert(authority) }
    }

    /// The generation of connections that the request is to look for; 0 as long as none was found worn.
    func generation(for request: PreparedRequest) -> UInt64 {
        generations.isEmpty ? 0 : generations[ConnectionGenerations.Place(request)]
    }

    /// Has requests look for connections of another generation from now on, unless they do already.
    /// - Parameter generation: That of the request for which a worn connection was found.
    func leaveGeneration(_ generation: UInt64, of request: PreparedRequest) {
        generations.leave(generation, at: ConnectionGenerations.Place(request))
    }

    /// Something has come over an HTTP/2 connection, which may be the end of a response whose request is not sent yet
    /// (``Engine/overlooksEndOfStream``).
    func lookForEnds(on connection: Connection) {
        for transfer in active where transfer.request.hasBody && transfer.connection === connection {
            transfer.connectionHasRead()
        }
    }

    // MARK: Connections that end

    /// Closes a connection that no other request may go over, if nobody uses it.
    func closeIfUnused(_ connection: Connection) {
        if !connection.isGivenUp, mayEnd(connection) { connection.giveUp() }
    }

    /// Notes that a transfer ended early, so that its peer learns soon that nobody listens any more.
    func noteDropped(on connection: Connection?) {
        guard let connection, connection.isMultiplexed, mayEnd(connection) else { return }
        guard !connection.isSilent else { return connection.giveUp() }
        guard Engine.keepsResetsBack else { return }
        connection.owesReset = true
        core.timers.set(connection, to: core.now.advanced(by: Self.resetPatience))
    }

    /// Ends the transfers on a connection that cannot be watched.
    func failUsers(of descriptor: Int32, _ error: CurlewError) {
        guard let connection = connection(descriptor), connection.isGivenUp else { return }
        connection.user?.transfer?.fail(error)
        for transfer in active where transfer.connection === connection { transfer.fail(error) }
        if mayEnd(connection) { connection.giveUp() }
    }

    /// True if nobody uses the connection, as far as that is known: one that a port number did not name uniquely may be
    /// that of any transfer.
    func mayEnd(_ connection: Connection) -> Bool {
        guard knows(connection), connection.user == nil else { return false }
        return !active.contains { $0.connection === connection || $0.isOnUnknownConnection }
    }

    // MARK: Ends

    /// After a time without any transfer the engine is freed, and with it every idle connection.
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
        generations = ConnectionGenerations()
        pool.removeAll()
        curl_multi_cleanup(raw)
        core.timers.remove(self)
        curlew_memory_trim()
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
        let hasIdle = connections.all.contains { $0.isTracked && $0.isUsed && $0.user == nil }
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
        for connection in connections.all where connection.isUsed && mayEnd(connection) { connection.giveUp() }
    }

    /// Ends the connections whose local address the machine does not have any more, as nothing can arrive there, and what
    /// is under way on them.
    func endLost() {
        let lost = connections.all.filter { $0.isTracked && !$0.hasLocalAddress }
        guard !lost.isEmpty else { return }
        // What has ended is not lost.
        notifyObservers()
        for connection in lost where knows(connection) {
            for transfer in active where transfer.connection === connection {
                transfer.fail(CurlewError(.connectionLost, "the machine has lost the address of the connection"))
            }
            // The end of a connection is that of a body without a length, which would look whole.
            guard knows(connection), !active.contains(where: \.isOnUnknownConnection) else { continue }
            connection.giveUp()
        }
    }

    /// Ends every transfer with an error, closes every connection and detaches from the loop. Nothing begins afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        for transfer in active { transfer.fail(CurlewError(.sessionInvalidated, "the session has ended")) }
        notifyObservers()
        closeIdleConnections()
        pool.removeAll()
        core.timers.remove(idleTimer)
        core.detach()
    }
}

private final class IdleTimer: LoopTimer {
    weak var owner: MultiHandle?

    override func fire() { owner?.idleTimerFired() }
}
