/// The loop of the monitors: one for all of them, and none while there is no monitor.
///
/// It is not the sessions' loop because the kernel may keep whoever asks about the network waiting while it changes, and
/// files under `/sys` are read there.
enum NetworkLoop {
    private struct Reference: Sendable {
        weak var loop: EventLoop?
    }

    private static let reference = Guarded(Reference())

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if it cannot be started.
    static func shared() throws -> EventLoop {
        try reference.withLock { reference in
            if let loop = reference.loop { return loop }
            let made = try EventLoop(name: "curlew-network")
            reference.loop = made
            return made
        }
    }
}
