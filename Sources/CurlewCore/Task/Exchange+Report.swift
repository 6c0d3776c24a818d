internal import HTTPTypes

extension Exchange {
    /// True if the request went over TLS, and the policy accepts only verified certificates for the host.
    var isVerified: Bool {
        request.uri.layout.isSecure && prepared.options.values.security.verifies(request.uri.host)
    }

    /// True if the session's events have a listener.
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

    /// Publishes the outcome of the response. The task may have outlived its session.
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
