extension Response {
    /// Tells those who listen to the session what a serializer made of the response; see ``SessionEvent/Kind/serialized``.
    func tellSerialized(
        by serializer: Any.Type, body: [UInt8] = [], _ result: Result<any Sendable, any Error>
    ) {
        guard let task, task.isObserved else { return }
        var event = SessionEvent(.serialized, task: task)
        event.response = head
        var value: (any Sendable)?
        switch result {
        case .success(let made): value = made
        case .failure(let error): event.error = CurlewError(wrapping: error)
        }
        event.serialization = SessionEvent.Serialization(
            serializer: "\(serializer)", body: task.kept(of: body), bodySize: ByteCount(body.count), value: value)
        task.publishAfterEnd(event)
    }

    /// Whether anybody would be told.
    var isObserved: Bool { task?.isObserved ?? false }
}

/// A response serializer that tells by itself what it did, or does nothing.
protocol SelfTelling {}
