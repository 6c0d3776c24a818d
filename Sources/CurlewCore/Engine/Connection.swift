internal import CLibcurl
internal import CLinux
internal import CurlewPlatform

/// A socket of libcurl on its loop. `Connection` is not `Sendable`: it never leaves the loop's thread.
final class Connection: LoopTimer, SocketHandler {
    /// The number of fruitless calls after which the loop stops watching for writability, and the time of that rest.
    private static let fruitlessLimit = 4
    private static let outputRest: Int64 = 10_000_000

    let descriptor: Int32
    /// The destination pool of the connection; nil for libcurl's own sockets, such as those of its resolver.
    let origin: OriginPool?
    /// The name by which libcurl finds the connection.
    let name: ConnectionName?
    /// The other end, and the times of connecting.
    let dialled: Dialled?

    // State of the pool.
    /// The number of exchanges that use the connection.
    @exclusivity(unchecked) var users = 0
    /// True until the first exchange has shown whether others can share the connection.
    @exclusivity(unchecked) var isPending = false
    /// The streams that libcurl has opened for the exchanges. The next property is the greatest number so far.
    @exclusivity(unchecked) private var streams = 0
    private var mostStreams = 0
    /// The stream limit, learned when libcurl refused a further exchange; nil before that, and after many exchanges
    /// have ended since.
    private var streamLimit: Int?
    /// The exchanges that have ended since the limit was learned.
    private var endedSinceLimit = 0
    /// The presumed stream limit of every server. libcurl presumes the same before it learns the limit.
    private static let presumedStreams = 100
    /// True if libcurl has the socket.
    @exclusivity(unchecked) var isHandedOver = false
    /// True if the socket is closed.
    @exclusivity(unchecked) var isClosed = false
    /// True if libcurl closes the connection by itself.
    @exclusivity(unchecked) var isEndedByEngine = false
    /// True if the connection has left the pool.
    @exclusivity(unchecked) var hasLeft = false
    // Position in the list of idle connections.
    @exclusivity(unchecked) var isIdle = false
    @exclusivity(unchecked) var idleSince = Instant(nanoseconds: 0)
    @exclusivity(unchecked) var idleBefore: Connection?
    @exclusivity(unchecked) var idleAfter: Connection?

    /// The handle that last showed interest in the socket; nil while the connection is idle.
    var user: EasyHandle?
    /// True if several transfers share the connection, so that bytes may arrive at any time.
    @exclusivity(unchecked) var isMultiplexed = false
    /// True if a request was sent over the connection.
    @exclusivity(unchecked) var isUsed = false
    /// True if the pool permits several simultaneous exchanges on the connection.
    @exclusivity(unchecked) var isShared = false
    /// The timer that runs until the first response begins, if the connection cannot be shared before.
    var firstHead: FirstHeadTimer?
    /// The local port; 0 without one.
    let port: Int32
    /// The events that libcurl wants to know of the socket.
    private var interest: UInt32 = 0
    /// The inode of a socket that libcurl connects; 0 for others.
    private let inode: UInt64
    private var fruitlessOutputs = 0
    unowned let multi: MultiHandle
    private let core: LoopCore
    /// The limits of the connection; nil if no limit can be reached.
    private let hygiene: ConnectionHygiene?
    /// The libcurl multi handle of the connection.
    let shard: EngineShard?
    /// True if a stream's reset is not sent yet. On an idle connection, the timer then ends the connection.
    var owesReset = false
    /// True if Curlew has shut the socket down; no request may use the connection.
    @exclusivity(unchecked) var isGivenUp = false
    /// True if requests have waited on the connection without any input, and no byte has arrived since. The connection
    /// may be dead, so no other request may use it.
    @exclusivity(unchecked) var isSilent = false
    /// True if a transfer has ended with an error of the HTTP/2 connection.
    var hasFailed = false
    /// True if a message of libcurl has reported a GOAWAY on the connection.
    var hasGoAway = false
    /// True if the bytes are counted that libcurl writes in reply to input.
    var watchesOutput = false
    private var writtenBeforeInput: Int64?
    private var writtenWhenClosed: Int64?
    /// True if the peer had not ended the connection when it was closed.
    private(set) var wasOpenWhenClosed = false
    /// The time at which the peer ended the connection; nil before, and if a frame came with the end.
    private(set) var endedWithoutFrames: Instant?
    /// The time of the last input.
    private(set) var lastInput: Instant
    /// The time at which the socket was opened.
    let opened: Instant
    /// True if the connection had received bytes when it was closed; nil before that, and after a noticed input.
    private var receivedWhenClosed: Bool?
    /// The number of requests that were sent over the connection.
    private(set) var uses = 0
    /// True if the session's limits permit no further request. The connection is closed once it is idle.
    private(set) var isWorn = false

    /// True if the socket carries datagrams of QUIC.
    let isQUIC: Bool

    /// A connection of the pool.
    init(_ dialled: Dialled, _ name: ConnectionName, _ origin: OriginPool, _ shard: EngineShard) {
        descriptor = dialled.descriptor
        self.origin = origin
        self.name = name
        self.dialled = dialled
        multi = shard.multi
        core = shard.core
        hygiene = multi.hygiene.isOn ? multi.hygiene : nil
        self.shard = shard
        lastInput = core.now
        opened = lastInput
        shard.connectionCount += 1
        port = Self.localPort(of: dialled.descriptor)
        inode = dialled.isConnected ? 0 : Self.inode(of: dialled.descriptor)
        isQUIC = origin.key.use == .quic
        isMultiplexed = isQUIC
    }

    /// A socket of libcurl's own.
    init(descriptor: Int32, _ shard: EngineShard) {
        self.descriptor = descriptor
        multi = shard.multi
        core = shard.core
        hygiene = nil
        self.shard = shard
        origin = nil
        name = nil
        dialled = nil
        lastInput = core.now
        opened = lastInput
        port = 0
        inode = 0
        isQUIC = false
    }

    /// False if the descriptor is another socket, or closed: libcurl before 8.0 closes a socket that it could not
    /// connect without reporting it.
    var isOpen: Bool { inode == 0 || Self.inode(of: descriptor) == inode }

    private static func inode(of descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// The other end, for statistics; nil for a Unix socket.
    private(set) lazy var peerText: (address: String, port: Int)? = {
        guard case .ip(let host, let port) = dialled?.peer else { return nil }
        return ("\(host.ip)", Int(port))
    }()

    /// True if a further exchange fits. Until the server has shown its limit, up to twice the greatest number so far
    /// are tried.
    func hasRoom(limit: Int) -> Bool { users < min(limit, streamLimit ?? triedStreams) }

    private var triedStreams: Int { max(Self.presumedStreams, 2 * mostStreams) }

    /// Records that libcurl has refused a further exchange: the server permits no more streams.
    func becomesFull() {
        streamLimit = max(1, streams)
        endedSinceLimit = 0
    }

    /// Records the end of an exchange that shared the connection. The server may permit more streams by now: a few more
    /// are tried occasionally.
    func noteSharedUseEnded() {
        guard let limit = streamLimit else { return }
        endedSinceLimit += 1
        guard endedSinceLimit >= 2 * limit else { return }
        endedSinceLimit = 0
        let next = limit + max(1, limit / 8)
        streamLimit = next < triedStreams ? next : nil
    }

    /// True if libcurl has not yet shown whether all exchanges fit.
    var isFilling: Bool { streamLimit == nil && users > streams }

    func beginStream() {
        streams += 1
        mostStreams = max(mostStreams, streams)
    }

    func endStream() { streams -= 1 }

    /// True if another exchange may use the connection. A connection with one exchange at a time must have no unread
    /// input: such bytes belong to no request.
    func mayServe() -> Bool {
        guard !isGivenUp, !isSilent, !isClosed, !hasGoAway, !checkLimits() else { return false }
        if isMultiplexed || dialled?.isConnected == false && !isHandedOver { return true }
        return !hasStrayInput
    }

    /// True if the peer has sent bytes. libcurl may read the first ones before it watches the connection.
    var hasReceived: Bool { lastInput > opened || receivedWhenClosed ?? (curlew_received_bytes(descriptor) > 0) }

    /// Records that the connection is about to be closed by Curlew.
    func noteEnd() {
        if lastInput == opened { receivedWhenClosed = curlew_received_bytes(descriptor) > 0 }
        guard isMultiplexed else { return }
        wasOpenWhenClosed = isOpenAtPeer
        if watchesOutput, endedWithoutFrames == nil, isEndWithoutFrames { endedWithoutFrames = core.now }
        if writtenBeforeInput != nil { writtenWhenClosed = writtenBytes }
    }

    /// The bytes that libcurl has written since the last input; nil if they are not counted.
    var writtenSinceInput: Int64? {
        guard let writtenBeforeInput, let written = writtenWhenClosed ?? writtenBytes else { return nil }
        return written - writtenBeforeInput
    }

    /// Records the arrival of bytes that libcurl does not read.
    func noteInput() { lastInput = core.now }

    /// Records that a request is about to use the connection.
    func noteUse() {
        isUsed = true
        uses += 1
        // Later bytes may belong to this request too.
        writtenBeforeInput = nil
        if let hygiene, uses == hygiene.maximumUses { isWorn = true }
    }

    /// True if the connection has reached one of its limits. The result stays true.
    private func checkLimits() -> Bool {
        if let hygiene, isUsed, !isWorn {
            // The loop's own time is earlier than the end of the response in this turn.
            let now = Instant.now
            isWorn = hygiene.forbids(
                age: opened.nanoseconds(to: now), silence: lastInput.nanoseconds(to: now), uses: uses)
        }
        return isWorn
    }

    func socketReady(_ descriptor: Int32, events: UInt32) {
        if !isMultiplexed { user?.transfer?.noteActivity() }
        var action: Int32 = 0
        if events & (Readiness.input | Readiness.hangUp) != 0 {
            action |= CURL_CSELECT_IN
            lastInput = core.now
            isSilent = false
        }
        if events & Readiness.output != 0 { action |= CURL_CSELECT_OUT }
        if events & Readiness.error != 0 { action |= CURL_CSELECT_ERR }
        let watchesUploads = Engine.asksInVain && isMultiplexed
        let uploaded = watchesUploads ? multi.uploadedBytes : 0
        if watchesOutput, action & CURL_CSELECT_IN != 0 {
            // The reply to an error in earlier input must stay counted.
            if isEndWithoutFrames { endedWithoutFrames = core.now } else { writtenBeforeInput = writtenBytes }
        }
        shard?.act(on: descriptor, action)
        if Engine.overlooksEndOfStream, isMultiplexed, action & CURL_CSELECT_IN != 0 { multi.lookForEnds(on: self) }
        guard watchesUploads, multi.knows(self) else { return }
        noteOutcome(isFruitless: action == CURL_CSELECT_OUT && multi.uploadedBytes == uploaded)
    }

    // MARK: Uploads under flow control

    /// Records the outcome of a turn. libcurl before 8.5 asks for writability even while HTTP/2's flow control permits
    /// no output, so the loop would spin. After several calls without a sent byte, writability is ignored until bytes
    /// are read, or for ten milliseconds.
    private func noteOutcome(isFruitless: Bool) {
        guard isFruitless else {
            fruitlessOutputs = 0
            if deadline < .distantFuture { fire() }
            return
        }
        fruitlessOutputs += 1
        guard fruitlessOutputs >= Self.fruitlessLimit, interest & Readiness.output != 0 else { return }
        setWatch(Readiness.input)
        core.timers.set(self, to: core.now.advanced(by: Self.outputRest))
    }

    override func fire() {
        guard owesReset else { return watch(interest) }
        owesReset = false
        // The peer is informed of the end at once. libcurl detects that the connection is dead when it looks for one to
        // reuse.
        if multi.mayEnd(self) { multi.connections.leave(self) }
    }

    /// Sets the events that libcurl wants to know: a mask of ``Readiness``.
    func watch(_ interest: UInt32) {
        self.interest = interest
        fruitlessOutputs = 0
        owesReset = false
        core.timers.remove(self)
        setWatch(interest)
    }

    private func setWatch(_ events: UInt32) {
        guard let problem = core.poller.watch(descriptor, for: events, handler: self) else { return }
        isGivenUp = true
        // The failure is reported later, because this may be inside one of libcurl's callbacks.
        core.execute { [multi, descriptor] in multi.failUsers(of: descriptor, problem) }
    }

    /// The local port; 0 without one, as for a Unix socket.
    private static func localPort(of descriptor: Int32) -> Int32 {
        withLocalAddress(of: descriptor) { bytes, family in
            switch family {
            // The port has the same offset in both kinds of address.
            case AF_INET, AF_INET6: Int32(bytes[2]) << 8 | Int32(bytes[3])
            default: 0
            }
        } ?? 0
    }

    /// True if the machine still has the local address of the connection, or if the address is unknown.
    var hasLocalAddress: Bool {
        Self.withLocalAddress(of: descriptor) { bytes, family in
            guard family == AF_INET || family == AF_INET6 else { return true }
            // The probe accepts any port.
            bytes[2] = 0
            bytes[3] = 0
            let probe = CurlewPlatform.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard probe >= 0 else { return true }
            defer { close(probe) }
            let length = socklen_t(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
            let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(probe, address, length) == 0 || errno != EADDRNOTAVAIL
        } ?? true
    }

    /// Ends the connection in both directions. No request may use it, and reads reach the end of its input. A socket of
    /// datagrams stays as it is: libcurl would read its end without end.
    func giveUp() {
        isGivenUp = true
        guard !isQUIC else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private static func withLocalAddress<Result>(
        of descriptor: Int32, _ body: (_ bytes: UnsafeMutableRawBufferPointer, _ family: Int32) -> Result
    ) -> Result? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard status == 0 else { return nil }
        let family = Int32(address.ss_family)
        return withUnsafeMutableBytes(of: &address) { body($0, family) }
    }
}

/// The time for which exchanges wait for a connection that can be shared once its first response has begun
/// (``Engine/sharesAfterFirstHead``, ``OriginPool/hasRefusedStreams``).
final class FirstHeadTimer: LoopTimer {
    /// The longest wait, in nanoseconds.
    static let patience: Int64 = 100_000_000

    private weak var connection: Connection?

    init(of connection: Connection) { self.connection = connection }

    override func fire() {
        if let connection { connection.multi.connections.firstHeadIsLate(on: connection) }
    }
}
