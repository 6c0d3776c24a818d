internal import CLibcurl
internal import CLinux
internal import Glibc

/// A socket of the engine's as the loop sees it. Not `Sendable`: it never leaves its loop's thread.
final class Connection: LoopTimer, SocketHandler {
    /// After so many vain calls writability is left alone, for so long.
    private static let fruitlessLimit = 4
    private static let outputRest: Int64 = 10_000_000

    let descriptor: Int32
    /// The place that it leads to; nil for a socket of the engine's own, as those of its resolver.
    let origin: OriginPool?
    /// The name by which the engine finds it.
    let name: ConnectionName?
    /// The other end, and what it took to connect.
    let dialled: Dialled?

    // The pool's books.
    /// The number of exchanges that have it.
    @exclusivity(unchecked) var users = 0
    /// True until its first exchange has shown whether others can share it.
    @exclusivity(unchecked) var isPending = false
    /// The exchanges among them that the engine has taken, and the most at a time so far.
    @exclusivity(unchecked) private var streams = 0
    private var mostStreams = 0
    /// The most exchanges at a time, as the engine has refused one more; nil before that, and once many have ended since.
    private var streamLimit: Int?
    /// The exchanges that have ended since the limit was learned.
    private var endedSinceLimit = 0
    /// The streams that every server is taken to permit, as libcurl does before it knows more.
    private static let presumedStreams = 100
    /// True if the engine has its socket.
    @exclusivity(unchecked) var isHandedOver = false
    /// True if its socket is closed.
    @exclusivity(unchecked) var isClosed = false
    /// True if the engine closes it by itself.
    @exclusivity(unchecked) var isEndedByEngine = false
    /// True if it is in the pool no more.
    @exclusivity(unchecked) var hasLeft = false
    // Its place among those that nobody uses.
    @exclusivity(unchecked) var isIdle = false
    @exclusivity(unchecked) var idleSince = Instant(nanoseconds: 0)
    @exclusivity(unchecked) var idleBefore: Connection?
    @exclusivity(unchecked) var idleAfter: Connection?

    /// The handle that last showed interest in the socket; nil while the connection is idle.
    var user: EasyHandle?
    /// True if several transfers share the connection, so that bytes may arrive at any time.
    @exclusivity(unchecked) var isMultiplexed = false
    /// True if a request has gone over it.
    @exclusivity(unchecked) var isUsed = false
    /// True if the pool lets several exchanges at a time go over it.
    @exclusivity(unchecked) var isShared = false
    /// The timer that runs until its first response begins, where it cannot be shared before.
    var firstHead: FirstHeadTimer?
    /// Its local port; 0 where there is none.
    let port: Int32
    /// What the engine wants to know of the socket.
    private var interest: UInt32 = 0
    /// The number of a socket that the engine connects; 0 for others.
    private let inode: UInt64
    private var fruitlessOutputs = 0
    unowned let multi: MultiHandle
    private let core: LoopCore
    /// nil where no limit can be reached.
    private let hygiene: ConnectionHygiene?
    /// The multi handle of libcurl's that has it.
    let shard: EngineShard?
    /// True if a stream's reset is not sent yet. While nobody uses the connection, its timer then waits to end it.
    var owesReset = false
    /// True if it was shut down by us; no request may go over it.
    @exclusivity(unchecked) var isGivenUp = false
    /// True if requests over it have waited in vain, and nothing has come since: it may have died without a word, so no
    /// other request may go over it.
    @exclusivity(unchecked) var isSilent = false
    /// True if a transfer has ended with an error of the HTTP/2 connection.
    var hasFailed = false
    /// True if libcurl was seen to read a GOAWAY from it.
    var hasGoAway = false
    /// True if the bytes are looked at that libcurl writes in reply to what comes.
    var watchesOutput = false
    private var writtenBeforeInput: Int64?
    private var writtenWhenClosed: Int64?
    /// True if the peer had not ended it when it was closed.
    private(set) var wasOpenWhenClosed = false
    /// When bytes last came.
    private(set) var lastInput: Instant
    /// When the socket was opened.
    let opened: Instant
    /// The number of requests that have gone over it.
    private(set) var uses = 0
    /// True if no other request may go over it by the session's limits. It is closed once nobody uses it.
    private(set) var isWorn = false

    /// A connection of the pool's.
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
    }

    /// A socket of the engine's own.
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
    }

    /// False if the descriptor is another socket, or none: libcurl before 8.0 closes one that it could not connect without a word.
    var isOpen: Bool { inode == 0 || Self.inode(of: descriptor) == inode }

    private static func inode(of descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// The other end, for figures; nil for a Unix socket.
    private(set) lazy var peerText: (address: String, port: Int)? = {
        guard case .ip(let host, let port) = dialled?.peer else { return nil }
        return ("\(host.ip)", Int(port))
    }()

    /// True if one more exchange fits in. As long as the server has not shown its limit, twice as many as it has had are tried.
    func hasRoom(limit: Int) -> Bool { users < min(limit, streamLimit ?? triedStreams) }

    private var triedStreams: Int { max(Self.presumedStreams, 2 * mostStreams) }

    /// The engine has refused one more exchange: the server permits no more streams.
    func becomesFull() {
        streamLimit = max(1, streams)
        endedSinceLimit = 0
    }

    /// An exchange that shared the connection has ended. The server may permit more by now: some more are tried, seldom.
    func noteSharedUseEnded() {
        guard let limit = streamLimit else { return }
        endedSinceLimit += 1
        guard endedSinceLimit >= 2 * limit else { return }
        endedSinceLimit = 0
        let next = limit + max(1, limit / 8)
        streamLimit = next < triedStreams ? next : nil
    }

    /// True if the engine has exchanges of which it has not shown whether they fit in.
    var isFilling: Bool { streamLimit == nil && users > streams }

    func beginStream() {
        streams += 1
        mostStreams = max(mostStreams, streams)
    }

    func endStream() { streams -= 1 }

    /// True if another exchange may go over it. A connection that carries one at a time must not have brought anything, as
    /// nobody has asked for it.
    func mayServe() -> Bool {
        guard !isGivenUp, !isSilent, !isClosed, !hasGoAway, !checkLimits() else { return false }
        if isMultiplexed || dialled?.isConnected == false && !isHandedOver { return true }
        return !hasStrayInput
    }

    /// It is about to be closed here.
    func noteEnd() {
        guard isMultiplexed else { return }
        wasOpenWhenClosed = isOpenAtPeer
        if writtenBeforeInput != nil { writtenWhenClosed = writtenBytes }
    }

    /// The bytes that libcurl has written since something last came, as far as it is watched.
    var writtenSinceInput: Int64? {
        guard let writtenBeforeInput, let written = writtenWhenClosed ?? writtenBytes else { return nil }
        return written - writtenBeforeInput
    }

    /// Bytes have come that libcurl does not read.
    func noteInput() { lastInput = core.now }

    /// A request is about to go over it.
    func noteUse() {
        isUsed = true
        uses += 1
        // Bytes that are written from now on are those of this request as well.
        writtenBeforeInput = nil
        if let hygiene, uses == hygiene.maximumUses { isWorn = true }
    }

    /// True if the connection has reached one of its limits. One that has reached a limit stays so.
    private func checkLimits() -> Bool {
        if let hygiene, isUsed, !isWorn {
            // The loop's own time is older than the response that ended in this turn.
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
        if watchesOutput, action & CURL_CSELECT_IN != 0 { writtenBeforeInput = writtenBytes }
        shard?.act(on: descriptor, action)
        if Engine.overlooksEndOfStream, isMultiplexed, action & CURL_CSELECT_IN != 0 { multi.lookForEnds(on: self) }
        guard watchesUploads, multi.knows(self) else { return }
        noteOutcome(isFruitless: action == CURL_CSELECT_OUT && multi.uploadedBytes == uploaded)
    }

    // MARK: Uploads that the peer holds back

    /// libcurl before 8.5 asks for writability also while HTTP/2's flow control lets nothing out, so the loop would spin.
    /// After a few times without a byte gone, writability is left alone until something is read, or for ten milliseconds.
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
        // The peer learns of the end at once. libcurl finds the connection dead when it looks for one to reuse.
        if multi.mayEnd(self) { multi.connections.leave(self) }
    }

    /// Sets what the engine wants to know: a mask of ``Readiness``.
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
        // Not at once: this may be inside one of libcurl's callbacks.
        core.execute { [multi, descriptor] in multi.failUsers(of: descriptor, problem) }
    }

    /// The local port; 0 where there is none, as with a Unix socket.
    private static func localPort(of descriptor: Int32) -> Int32 {
        withLocalAddress(of: descriptor) { bytes, family in
            switch family {
            // The port stands at the same place in both kinds of address.
            case AF_INET, AF_INET6: Int32(bytes[2]) << 8 | Int32(bytes[3])
            default: 0
            }
        } ?? 0
    }

    /// True if the machine has the address that the connection was made from, or if that is not known.
    var hasLocalAddress: Bool {
        Self.withLocalAddress(of: descriptor) { bytes, family in
            guard family == AF_INET || family == AF_INET6 else { return true }
            // Any port will do.
            bytes[2] = 0
            bytes[3] = 0
            let probe = Glibc.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard probe >= 0 else { return true }
            defer { close(probe) }
            let length = socklen_t(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
            let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(probe, address, length) == 0 || errno != EADDRNOTAVAIL
        } ?? true
    }

    /// Ends the connection in both directions. No request may go over it; what is read from it has come to its end.
    func giveUp() {
        isGivenUp = true
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

    /// True if the peer has not ended it, as far as can be seen: something may still be unread.
    var isOpenAtPeer: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
    }

    /// The number of bytes that were written to it; nil if that is not known.
    var writtenBytes: Int64? {
        let count = curlew_written_bytes(descriptor)
        return count < 0 ? nil : count
    }

    /// The number of written bytes that the peer's system has not confirmed; nil if it is not known.
    var unconfirmedBytes: Int? {
        guard port > 0 else { return nil }
        let count = curlew_unconfirmed_bytes(descriptor)
        return count < 0 ? nil : Int(count)
    }

    /// True if something can be read, the end included, though no request is under way.
    var hasStrayInput: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }
}

/// The time for which exchanges wait to share a connection that can be shared from its first response on
/// (``Engine/sharesAfterFirstHead``).
final class FirstHeadTimer: LoopTimer {
    /// In nanoseconds.
    static let patience: Int64 = 100_000_000

    private weak var connection: Connection?

    init(of connection: Connection) { self.connection = connection }

    override func fire() {
        if let connection { connection.multi.connections.firstHeadIsLate(on: connection) }
    }
}
