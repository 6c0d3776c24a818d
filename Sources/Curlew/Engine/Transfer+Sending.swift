internal import CLibcurl
internal import COpenSSL

extension Transfer {
    /// What the engine is given of the body.
    enum Provided {
        case bytes(Int)
        case wait
        case failed
    }

    /// The last moment before the request's first byte: libcurl has a connection and asks for leave.
    func connectionReady(peer: UnsafePointer<CChar>?, localPort: Int32) -> Bool {
        if heldHead != nil { answerIsAnnounced() }
        guard failure == nil, refusal == nil else { return false }
        readyCount += 1
        if readyCount > 1 {
            // libcurl repeats by itself what died on a kept connection, POST included. Whether to do so is ours to say.
            guard mayBeRepeatedByEngine, readyCount == 2, sentBody == 0 else {
                refusal = .resend
                return false
            }
            noteRepetition()
        }
        guard let easy else { return false }
        let candidates = multi.candidates(localPort: localPort, for: easy)
        isReused = candidates.contains { $0.isUsed }
        guard mayUse(peer: peer), fitsProxy(candidates) else { return false }
        connection = candidates.count == 1 ? candidates[0] : nil
        if request.version == .http2PriorKnowledge, Self.mustJoinHTTP2, isReused != attempt.joinsHTTP2 {
            refusal = .connectionKind
            return false
        }
        let isStray = candidates.contains {
            $0.isGivenUp || $0.isSilent
                || $0.isUsed && $0.user == nil && !$0.isMultiplexed && ($0.hasStrayInput || hasBufferedTLSInput)
        }
        if isStray {
            refusal = .strayInput
            return false
        }
        guard noteAgreement() else {
            failure = CurlewError(.untrustedCertificate, "the connection was not accepted under the request's policy")
            return false
        }
        guard !request.isHandshakeOnly else {
            var context = CurlewError.Context()
            context.handshake = security
            failure = CurlewError(.cancelled, "the connection was wanted, and no answer", context: context)
            return false
        }
        for candidate in candidates {
            if !candidate.isUsed { candidate.proxy = request.options.values.proxy }
            candidate.isUsed = true
            candidate.isMultiplexed = isHTTP2Agreed
        }
        // Only a kept connection may bring the answer to another request.
        mayBeUnasked = isReused && !isHTTP2Agreed && challengeCount == 0 && connection?.unconfirmedBytes == 0
        stage = .exchanging
        lastActivity = multi.core.now
        if isHTTP2Agreed, !isReused { awaitFirstAnswer() }
        rearm()
        return true
    }

    /// Whether it is all the same if libcurl sends the request a second time.
    private var mayBeRepeatedByEngine: Bool {
        guard request.isIdempotent, !parser.hasBegun else { return false }
        return switch request.body.source {
        case .none, .bytes: true
        default: false
        }
    }

    /// Goes back to the start of the body, if the request may be sent again and its body is in memory. Else the attempt is
    /// refused, but later, when libcurl asks for leave to send: since 8.7 it rewinds when it has joined a connection, and
    /// if that fails it frees the connection under the other transfers that use it.
    func rewindBody() {
        let isAnswering = heldHead != nil && request.body.isReplayable
        guard mayBeRepeatedByEngine || isAnswering else {
            refusal = .resend
            return
        }
        if case .channel(let channel) = source {
            // The next reading asks for a fresh one.
            channel.close()
            source = .none
            hasSource = false
        }
        sentBody = 0
        isBodySent = false
    }

    /// Whether OpenSSL has bytes decrypted that nobody asked for: libcurl's own look at an idle connection may have
    /// moved them there.
    private var hasBufferedTLSInput: Bool {
        guard request.uri.layout.isSecure, let easy else { return false }
        return easy.tlsSession.map { SSL_pending($0) > 0 } ?? false
    }

    /// Copies the next bytes of the body into `space`.
    func provideBody(_ space: UnsafeMutableRawBufferPointer) -> Provided {
        guard failure == nil else { return .failed }
        if holds.contains(.suspended) {
            holds.insert(.body)
            return .wait
        }
        if !hasSource {
            guard let made = observer?.bodySource(for: self) else {
                failure = CurlewError(.bodyNotReplayable, "the body would have to be read a second time")
                return .failed
            }
            source = made
            hasSource = true
        }
        noteActivity()
        multi.touch(self)
        switch source {
        case .none: return finishBody()
        case .bytes(let bytes): return provide(bytes, into: space)
        case .channel(let channel): return provide(channel, into: space)
        }
    }

    /// What is left of a limit's allowance is kept for the next time.
    private func keepUnused(of space: UnsafeMutableRawBufferPointer, used: Int) {
        if let pace, used < space.count { pace.keep(space.count - used, on: pace.sending) }
    }

    private func provide(_ bytes: [UInt8], into space: UnsafeMutableRawBufferPointer) -> Provided {
        let offset = Int(sentBody)
        guard offset < bytes.count else { return finishBody() }
        guard let space = paced(space) else { return .wait }
        let count = min(space.count, bytes.count - offset)
        keepUnused(of: space, used: count)
        bytes.withUnsafeBytes {
            space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        return sent(count)
    }

    private func provide(_ channel: UploadChannel, into space: UnsafeMutableRawBufferPointer) -> Provided {
        guard let space = paced(space) else { return .wait }
        let taken = channel.read(into: space)
        if case .bytes(let count) = taken { keepUnused(of: space, used: count) } else { keepUnused(of: space, used: 0) }
        switch taken {
        case .bytes(let count): return sent(count)
        case .end: return finishBody()
        case .wait:
            holds.insert(.body)
            return .wait
        case .failure(let error):
            failure = error
            return .failed
        }
    }

    private func sent(_ count: Int) -> Provided {
        sentBody += Int64(count)
        multi.uploadedBytes &+= count
        if sentBody == request.contentLength { bodyIsSent() }
        return .bytes(count)
    }

    private func finishBody() -> Provided {
        if let length = request.contentLength, sentBody < length {
            failure = CurlewError(
                .bodyLengthMismatch, "the body ended after \(sentBody) of \(length) bytes")
            return .failed
        }
        bodyIsSent()
        return .bytes(0)
    }

    private func bodyIsSent() {
        isBodySent = true
        guard head != nil, request.engineCredential == nil, !parser.framing.isAmbiguous else { return }
        // The answer came first, so the connection was to be given up; now both directions are in order again.
        try? easy?.forbidReuse(false)
    }
}

extension EasyHandle {
    /// OpenSSL's object for the connection in use.
    var tlsSession: OpaquePointer? {
        var info: UnsafeMutablePointer<curl_tlssessioninfo>?
        guard curlew_easy_get_tls(raw, &info) == CURLE_OK, let info, info.pointee.backend == CURLSSLBACKEND_OPENSSL,
            let session = info.pointee.internals
        else { return nil }
        return OpaquePointer(session)
    }
}
