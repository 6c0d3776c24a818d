extension TaskActor {
    /// Tells what became of the file that the body went into. The task has ended by then, and may have outlived its session.
    nonisolated func publishFile(_ kind: SessionEvent.Kind, _ path: String, _ error: CurlewError?) {
        guard shard.broadcaster.hasListeners else { return }
        shard.broadcaster.publish(SessionEvent(kind: kind, task: self, error: error, metrics: nil, file: path))
    }
}
