internal import HTTPTypes

extension Exchange {
    /// True if it went over TLS, and its policy takes nobody for the host whose certificate was not verified.
    var isVerified: Bool {
        request.uri.layout.isSecure && prepared.options.values.security.verifies(request.uri.host)
    }

    /// True if anybody listens to the session's events.
    var isObserved: Bool { host.broadcaster.hasListeners }

    /// The progress up to this moment.
    var progress: TaskProgress {
        var progress = TaskProgress()
        progress.sent.wire = sentBodyBytes
        progress.sent.total = prepared.contentLength
        progress.received.wire = receivedBodyBytes
        progress.received.total = head == nil ? nil : expectedBodyBytes
        progress.isFinished = lifecycle.state.isEnd
        return progress
    }

    /// Publishes what became of the response. The task may have outlived its session.
    func report(_ outcome: ResponseOutcome) {
        guard isObserved else { return }
        var event: SessionEvent
        switch outcome {
        case .serialized(let serializer, let head, let body, let result):
            event = SessionEvent(.serialized, of: self)
            event.response = head
            var value: (any Sendable)?
            switch result {
            case .success(let made): value = made
            case .failure(let error): event.error = CurlewError(wrapping: error)
            }
            event.serialization = SessionEvent.Serialization(
                serializer: serializer, body: host.kept(of: body), bodySize: ByteSize(body.count), value: value)
        case .moved(let path):
            event = SessionEvent(.moved, of: self)
            event.file = path
        case .moveFailed(let path, let error):
            event = SessionEvent(.moveFailed, of: self)
            event.error = error
            event.file = path
        }
        publishAfterEnd(event)
    }
}
