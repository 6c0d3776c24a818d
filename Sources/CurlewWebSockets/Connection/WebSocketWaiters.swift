internal import Curlew

/// The tasks that wait for an event of a WebSocket.
struct WebSocketWaiters: Sendable {
    /// The tasks that wait for the turn of a writer.
    let writers: LoopWaiters
    /// The tasks that wait for room in the send buffer.
    let room: LoopWaiters
    /// The tasks that wait for a pong.
    let pingers: LoopWaiters
    /// The tasks that wait for the end.
    let closers: LoopWaiters

    init(on loop: CurlewEventLoop) {
        writers = LoopWaiters(on: loop)
        room = LoopWaiters(on: loop)
        pingers = LoopWaiters(on: loop)
        closers = LoopWaiters(on: loop)
    }

    /// Ends the waits of the tasks that send.
    func endSending(_ error: CurlewError) {
        room.resumeAll(throwing: error)
        writers.resumeAll(throwing: error)
        pingers.resumeAll(throwing: error)
    }
}
