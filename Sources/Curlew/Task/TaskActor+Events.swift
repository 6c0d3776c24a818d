internal import HTTPTypes

extension TaskActor {
    /// Publishes to those who listen to the session; nothing is made for nobody.
    func publish(_ kind: SessionEvent.Kind) {
        guard host.broadcaster.hasListeners else {
            if !pendingEvents.isEmpty { pendingEvents = [] }
            return
        }
        var event = SessionEvent(kind, task: self)
        if kind == .completed {
            event.error = end
            event.metrics = metrics
            event.response = head
        }
        host.broadcaster.publish(event)
        guard kind == .completed, !pendingEvents.isEmpty else { return }
        pendingEvents.forEach(host.broadcaster.publish)
        pendingEvents = []
    }

    /// Publishes what belongs behind the end of the task: at once if it has ended, which its loop knows. Who has read a body to
    /// its end may be quicker than the loop that is about to publish it.
    nonisolated func publishAfterEnd(_ event: SessionEvent) {
        onLoop { task in
            if task.lifecycle.state.isEnd {
                task.host.broadcaster.publish(event)
            } else {
                task.pendingEvents.append(event)
            }
        }
    }

    /// True if anybody listens to the session's events.
    nonisolated var isObserved: Bool { host.broadcaster.hasListeners }

    /// As much of a body as an event keeps.
    nonisolated func kept(of body: [UInt8]) -> [UInt8] {
        body.count <= host.eventBodyLimit ? body : Array(body.prefix(host.eventBodyLimit))
    }
}

extension TaskActor: Exchange {
    nonisolated var number: UInt64 { id.number }

    /// Publishes what became of the response. The task may have outlived its session.
    nonisolated func report(_ outcome: ResponseOutcome) {
        guard isObserved else { return }
        var event: SessionEvent
        switch outcome {
        case .serialized(let serializer, let head, let body, let result):
            event = SessionEvent(.serialized, task: self)
            event.response = head
            var value: (any Sendable)?
            switch result {
            case .success(let made): value = made
            case .failure(let error): event.error = CurlewError(wrapping: error)
            }
            event.serialization = SessionEvent.Serialization(
                serializer: serializer, body: kept(of: body), bodySize: ByteSize(body.count), value: value)
        case .moved(let path):
            event = SessionEvent(.moved, task: self)
            event.file = path
        case .moveFailed(let path, let error):
            event = SessionEvent(.moveFailed, task: self)
            event.error = error
            event.file = path
        }
        publishAfterEnd(event)
    }
}

extension CurlewResponse {
    /// The task that carried the response; nil where none did, as in a stub.
    public var task: TaskActor? { exchange as? TaskActor }
}
