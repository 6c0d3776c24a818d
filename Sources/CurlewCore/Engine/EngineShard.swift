internal import CLibcurl

/// A libcurl multi handle with a part of an engine's connections.
///
/// libcurl searches all connections of a multi handle at the end of each exchange, and checks each idle one once a
/// second with a system call. So each multi handle has few. `EngineShard` is not `Sendable`: it never leaves its loop's
/// thread.
final class EngineShard: LoopTimer {
    /// The greatest number of connections of a multi handle.
    static let connectionLimit = 64

    unowned let multi: MultiHandle
    let core: LoopCore
    private var raw: UnsafeMutableRawPointer?
    @exclusivity(unchecked) var connectionCount = 0
    /// True if the connections belong to exchanges that ask for an upgrade.
    var isUpgraded = false
    /// True if libcurl was called since its messages were read.
    @exclusivity(unchecked) private var hasActed = false

    /// The longest wait in milliseconds: longer than every timeout, and short enough to convert to nanoseconds.
    private static let longestWait = 1 << 40

    /// - Throws: ``CurlewError`` if libcurl has no memory, or rejects an option.
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
        // The pool sets the limits.
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

    /// Calls libcurl for events of a socket.
    func act(on descriptor: Int32, _ action: Int32) {
        guard let raw else { return }
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, action, &running)
        noteWork()
    }

    /// Makes libcurl continue the shutdown of its connections.
    func runShutdowns() {
        guard Engine.forgetsShutdowns else { return act(on: CURL_SOCKET_TIMEOUT, 0) }
        guard let raw else { return }
        curlew_multi_act_on_all(raw)
        noteWork()
    }

    /// Records that transfers may have ended.
    func noteWork() {
        if !hasActed {
            hasActed = true
            multi.hasActed(self)
        }
    }

    /// Reads the transfers that libcurl has ended.
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

    /// Runs libcurl's own timer. libcurl does not set it again if the timer fires too early by libcurl's clock, by up
    /// to the time of a loop turn. So this method reads the timer from libcurl again.
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
