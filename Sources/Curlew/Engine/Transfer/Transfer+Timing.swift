internal import CLibcurl

/// The limits of time and rate, and what stops the bytes.
extension Transfer {
    /// Called with every byte either way.
    func noteActivity() { clock.noteActivity(at: core.now) }

    /// The timer has fired: fails the exchange if a limit is exceeded, and sets the timer to the next moment.
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

    /// True if bytes of a head have come, though no line of it. With TLS and HTTP/2 they may be something else.
    private var hasPartOfHead: Bool {
        guard let since = clock.headAwaitedSince, let connection = attempt.connection, !connection.isMultiplexed,
            !prepared.uri.layout.isSecure
        else { return false }
        return connection.lastInput > since
    }

    private var clockPosition: TransferClock.Position {
        TransferClock.Position(stage: attempt.stage, pauses: attempt.pauses, isClaimed: isClaimed)
    }

    var nearestDeadline: Instant {
        min(
            clock.nearestDeadline(clockPosition),
            attempt.heldBack?.deadline ?? .distantFuture, earlyDeadline)
    }

    /// Sees to it that the timer fires at the nearest deadline. One that is set for an earlier moment is left alone: it
    /// looks at the clocks anew when it fires, and moving it with every step would be for nothing.
    func rearm() {
        guard outcome == nil else { return }
        let nearest = nearestDeadline
        if nearest < deadline { core.timers.set(self, to: nearest) }
    }

    // MARK: Pausing

    /// Stops or restarts the bytes in both directions for the user.
    func setSuspended(_ isSuspended: Bool) {
        // On resuming, what else held back is asked again: the callbacks find out whether it still does.
        if isSuspended {
            attempt.pause(.suspended)
        } else {
            attempt.unpause(attempt.pauses)
            clock.restart(at: core.now)
        }
        applyPauses()
    }

    /// The reader has made room.
    func readerMadeRoom() { unpause(.reader) }

    /// There is something to send again.
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
        // Resuming delivers what libcurl had kept, and so may end in one of our rejections.
        let result = easy.pause(attempt.pauses)
        if result != CURLE_OK, result != CURLE_BAD_FUNCTION_ARGUMENT {
            fail(attempt.failure ?? CurlewError(ErrorCode(result), String(cString: curl_easy_strerror(result))))
        }
    }

    /// Limits the transfer's rate, from its start on or from now on.
    /// - Parameter limit: Its own; that of the session is the multi handle's.
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
        // What waited for the old limits asks again.
        unpause([.sendingRate, .receivingRate])
    }
}
