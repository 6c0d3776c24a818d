extension TaskActor {
    /// Tells, behind the task's end, what became of the file that the body went into. The task may have outlived its session.
    nonisolated func publishFile(_ kind: SessionEvent.Kind, _ path: String, _ error: CurlewError?) {
        guard isObserved else { return }
        var event = SessionEvent(kind, task: self)
        event.error = error
        event.file = path
        publishAfterEnd(event)
    }
}
