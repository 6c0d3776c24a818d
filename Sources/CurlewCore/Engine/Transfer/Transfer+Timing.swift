internal import CLibcurl
internal import CLinux

/// The limits of time and rate, and the pauses of a transfer.
extension Transfer {
    /// Records a byte in either direction.
    func noteActivity() { clock.noteActivity(at: core.now) }

    /// Checks the limits after the timer has fired: fails the exchange if a limit is exceeded, and sets the timer to
    /// the next deadline.
    func lookAtClocks() {
        let now = core.now
        let expiry: TransferClock.Expiry?
        switch clock.look(at: now, clockPosition) {
        case .again: return core.timers.set(self, to: now.advanced(by: 1))
        case .found(let found): expiry = found
        }
        if expiry == .head, hasPartOfHead {
            clock.endAwaitingHead()
        } else if let expiry {
            return fail(expiry.error(prepared.timeouts))
        }
        if let watch = attempt.heldBack, watch.deadline <= now, leaveIfHeldBack(watch) { return }
        if earlyDeadline <= now, endsEarly() { return settle(attempt.outcomeOfEarlyAnswer()) }
        core.timers.set(self, to: nearestDeadline)
    }

    /// True if bytes of a head have arrived, but no complete line. With TLS and HTTP/2 the bytes may have another
    /// meaning.
    private var hasPartOfHead: Bool {
        guard let since = clock.headAwaitedSince, let connection = attempt.connection, !connection.isMultiplexed,
            !prepared.uri.layout.isSecure
        else { return false }
        if connection.lastInput > since { return true }
        // libcurl reads once right after it has sent the request, without an event of the socket. Only the first
        // response of a connection without a proxy can be recognized by the number of all received bytes, and only if
        // they contain no interim response.
        return connection.uses == 1 && connection.lastInput == connection.opened && !prepared.options.hasProxy
            && !attempt.incoming.hasInterim && curlew_received_bytes(connection.descriptor) > 0
    }

    private var clockPosition: TransferClock.Position {
        TransferClock.Position(stage: attempt.stage, pauses: attempt.pauses, isClaimed: isClaimed)
    }

    var nearestDeadline: Instant {
        min(
            clock.nearestDeadline(clockPosition),
            attempt.heldBack?.deadline ?? .distantFuture, earlyDeadline)
    }

    /// Makes the timer fire at the nearest deadline. A timer with an earlier time is not changed: it checks the limits
    /// when it fires, and moving it with every step would be useless.
    func rearm() {
        guard outcome == nil else { return }
        let nearest = nearestDeadline
        if nearest < deadline { core.timers.set(self, to: nearest) }
    }

    // MARK: Pausing

    /// Pauses or resumes both directions for the user.
    func setSuspended(_ isSuspended: Bool) {
        // On resuming, all other pauses are cleared as well: the callbacks set them again if they still apply.
        if isSuspended {
            attempt.pause(.suspended)
        } else {
            attempt.unpause(attempt.pauses)
            clock.restart(at: core.now)
        }
        applyPauses()
    }

    /// Resumes reading after the reader has made room.
    func readerMadeRoom() { unpause(.reader) }

    /// Resumes sending after bytes of the body have arrived.
    func bodyArrived() { unpause(.body) }

    private func unpause(_ reasons: PauseReasons) {
        guard !attempt.pauses.isDisjoint(with: reasons) else { return }
        attempt.unpause(reasons)
        applyPauses()
    }

    private func applyPauses() {
        guard position >= 0, let easy else { return rearm() }
        noteActivity()
        guard prepared.upgrade == nil else {
            rearm()
            upgrade?.pausesChanged()
            return
        }
        resume(easy)
    }

    func resume(_ easy: EasyHandle) {
        rearm()
        attempt.connection?.shard?.noteWork()
        // Resuming delivers bytes that libcurl had held back, and so may cause one of Curlew's rejections.
        let result = easy.pause(attempt.pauses)
        if result != CURLE_OK, result != CURLE_BAD_FUNCTION_ARGUMENT {
            fail(attempt.failure ?? CurlewError(ErrorCode(result), String(cString: curl_easy_strerror(result))))
        }
    }

    /// Limits the transfer's rate, from its start or from now on.
    /// - Parameter limit: The transfer's own limit; the multi handle has that of the session.
    func setRateLimit(_ limit: RateLimit) {
        guard outcome == nil else { return }
        if limit == .none, multi?.rate == nil {
            limiter?.release()
            limiter = nil
        } else if let limiter {
            limiter.change(limit: limit, shared: multi?.rate)
        } else {
            limiter = RateLimiter(core: core, limit: limit, shared: multi?.rate) { [weak self] direction in
                self?.unpause(direction == .sending ? .sendingRate : .receivingRate)
            }
        }
        // Directions that waited for the old limits try again.
        unpause([.sendingRate, .receivingRate])
    }
}
