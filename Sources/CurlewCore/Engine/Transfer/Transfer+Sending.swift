internal import CLibcurl

/// The request's body, and responses that arrive before its end.
extension Transfer {
    /// The result of a read of the body by libcurl.
    enum Provided {
        case bytes(Int)
        case wait
        case failed
    }

    /// Rewinds the body for libcurl.
    func rewindBody() { attempt.rewind() }

    /// Copies the next bytes of the body into `space`.
    func provideBody(_ space: UnsafeMutableRawBufferPointer) -> Provided {
        guard attempt.failure == nil else { return .failed }
        if attempt.pauses.contains(.suspended) {
            attempt.pause(.body)
            return .wait
        }
        if !attempt.outgoing.hasSource {
            // Both references are weak: a producer's call to an ended loop stays in its queue, and must not hold
            // objects.
            let source = feed.next(for: prepared) { [weak self, core = core] in
                core.execute { [weak self] in self?.bodyArrived() }
            }
            guard let source else {
                attempt.fail(CurlewError(.bodyNotReplayable, "the body would have to be read a second time"))
                return .failed
            }
            attempt.beginBody(from: source)
        }
        noteActivity()
        multi?.markChanged(self)
        guard let limiter, attempt.outgoing.hasMore else { return provided(attempt.provide(into: space)) }
        let allowed = limiter.allowance(for: space.count, .sending)
        guard allowed > 0 else {
            attempt.pause(.sendingRate)
            return .wait
        }
        let provided = attempt.provide(into: UnsafeMutableRawBufferPointer(rebasing: space[..<allowed]))
        var used = 0
        if case .bytes(let count) = provided { used = count }
        if used < allowed { limiter.keep(allowed - used, .sending) }
        return self.provided(provided)
    }

    private func provided(_ provided: OutgoingBody.Provided) -> Provided {
        switch provided {
        case .bytes(let count): multi?.uploadedBytes &+= count
        case .end: break
        case .wait: return .wait
        case .failed: return .failed
        }
        if attempt.isInOrderAgain, attempt.connection?.isWorn != true { try? easy?.forbidReuse(false) }
        if attempt.awaitsHead {
            clock.awaitHead(since: core.now)
            rearm()
            listenForGoAway()
        }
        // The command is delayed, because libcurl still has to send these bytes.
        if Engine.overlooksEndOfStream, attempt.mayEndByRequest { core.send(.lookForEnd, to: self) }
        if case .bytes(let count) = provided { return .bytes(count) }
        return .bytes(0)
    }

    /// Makes libcurl read once more, whether or not the socket is ready.
    func lookForEnd() {
        guard outcome == nil, let easy, attempt.pauses.isDisjoint(with: .receiving) else { return }
        _ = easy.pause(attempt.pauses.union(.reader))
        resume(easy)
    }

    // MARK: HTTP/2 responses before the end of the request

    /// The time of the next check whether the request's body is still wanted.
    var earlyDeadline: Instant {
        prepared.hasBody && attempt.isOverEarly ? earlyAnswer.deadline(after: clock.lastActivity) : .distantFuture
    }

    /// True if the request was not sent, and no byte of it is being sent.
    func endsEarly() -> Bool {
        guard let easy else { return false }
        guard !attempt.outgoing.isSent || easy.offset(CURLINFO_SIZE_UPLOAD_T) < attempt.outgoing.sentBytes else {
            earlyAnswer.end()
            return false
        }
        return earlyAnswer.hasStopped(written: attempt.connection?.writtenBytes, at: core.now)
    }

    /// Makes libcurl look for the end of the response and of the request, after input on the connection.
    func connectionHasRead() { if attempt.isAnsweredEarly { lookForEnd() } }
}
