internal import CLibcurl

/// A multi handle of libcurl's, with a part of an engine's connections.
///
/// libcurl looks through all connections of a multi handle at the end of each exchange, and once a second asks the system about each
/// that is idle. So each multi handle has few. Not `Sendable`: it never leaves its loop's thread.
final class EngineShard: LoopTimer {
    /// The most connections of a multi handle.
    static let connectionLimit = 64

    unowned let multi: MultiHandle
    let core: LoopCore
    private var raw: UnsafeMutableRawPointer?
    @exclusivity(unchecked) var connectionCount = 0
    /// True if its connections are those of exchanges that ask for an upgrade.
    var isUpgraded = false
    /// True if libcurl has worked since its messages were read.
    @exclusivity(unchecked) private var hasActed = false

    /// In milliseconds: longer than anything waits, and short enough to count in nanoseconds.
    private static let longestWait = 1 << 40

    /// - Throws: ``CurlewError`` if libcurl has no memory, or refuses an option.
    init(multi: MultiHandle) throws {
        guard let raw = curl_multi_init() else {
            throw CurlewError(.resourcesExhausted, "no memory for a multi handle")
        }
        self.raw = raw
        self.multi = multi
        core = multi.core
        super.init()
        let own = Unmanaged.passUnretained(self).toOpaque()
        try check(curlew_multi_set_socket(raw, EngineCallbacks.socket))
        try check(curlew_multi_set_pointer(raw, CURLMOPT_SOCKETDATA, own))
        try check(curlew_multi_set_timer(raw, EngineCallbacks.timer))
        try check(curlew_multi_set_pointer(raw, CURLMOPT_TIMERDATA, own))
        try check(curlew_multi_set_long(raw, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)))
        // The limits are the pool's.
        try check(curlew_multi_set_long(raw, CURLMOPT_MAXCONNECTS, 1_000_000))
        try check(curlew_multi_set_long(raw, CURLMOPT_MAX_CONCURRENT_STREAMS, Int(Int32.max)))
    }

    deinit { end() }

    /// Closes every connection and frees libcurl's handle.
    func end() {
        guard let raw else { return }
        self.raw = nil
        curl_multi_cleanup(raw)
    }

    private func check(_ code: CURLMcode) throws {
        guard code != CURLM_OK else { return }
        throw CurlewError(.unsupported, "libcurl refuses an option: \(String(cString: curl_multi_strerror(code)))")
    }

    func add(_ easy: EasyHandle) throws {
        guard let raw else { throw CurlewError(.sessionInvalidated, "the session has ended") }
        let code = curl_multi_add_handle(raw, easy.raw)
        guard code == CURLM_OK else { throw CurlewError(.engineFailed, String(cString: curl_multi_strerror(code))) }
    }

    func remove(_ easy: EasyHandle) { if let raw { curl_multi_remove_handle(raw, easy.raw) } }

    /// Lets libcurl work on a socket.
    func act(on descriptor: Int32, _ action: Int32) {
        guard let raw else { return }
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, action, &running)
        noteWork()
    }

    /// Something may have been finished.
    func noteWork() {
        if !hasActed {
            hasActed = true
            multi.hasActed(self)
        }
    }

    /// Reads which transfers libcurl is done with.
    func collect(_ body: (EasyHandle, CURLcode) -> Void) {
        hasActed = false
        guard let raw else { return }
        var left: Int32 = 0
        while self.raw != nil, let message = curl_multi_info_read(raw, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let result = curlew_message_result(message)
            if let easy = EasyHandle.of(message.pointee.easy_handle) { body(easy, result) }
        }
    }

    /// libcurl's own timer. It does not ask for it again if it fires before its time by its own clock, which may be by the time that
    /// a turn of the loop takes. So it is asked.
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
}
