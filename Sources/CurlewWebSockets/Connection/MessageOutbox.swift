internal import Curlew

/// The messages that tasks have handed over to the loop, and that are not in the send buffer yet.
///
/// The loop opens the outbox while the send buffer is empty and no sender has its turn. A task that finds the outbox
/// closed waits for its turn on the loop.
final class MessageOutbox: Sendable {
    private struct State {
        var messages: [CurlewWebSocket.Message] = []
        var size = 0
        var isOpen = false
    }

    /// The result of handing over a message.
    enum Offer {
        /// The message was taken. If it is the first one, the loop must be asked to write.
        case taken(isFirst: Bool)
        case refused
    }

    private let state = Guarded(State())
    private let limit: Int

    /// - Parameter limit: The size of messages at which the outbox refuses others.
    init(limit: Int) { self.limit = limit }

    /// Hands over a message. It may be called on any thread.
    func offer(_ message: CurlewWebSocket.Message, size: Int) -> Offer {
        state.withLock { state in
            guard state.isOpen, state.size < limit else { return .refused }
            state.messages.append(message)
            state.size += size
            return .taken(isFirst: state.messages.count == 1)
        }
    }

    /// Opens or closes the outbox. The messages in it stay there.
    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    /// Exchanges the messages with an empty array, whose capacity is used again. If there are messages, the outbox is
    /// closed until they are written to the socket: the send buffer and the outbox together stay within the limit.
    func takeMessages(with other: inout [CurlewWebSocket.Message]) {
        state.withLock { state in
            guard !state.messages.isEmpty else { return }
            swap(&state.messages, &other)
            state.size = 0
            state.isOpen = false
        }
    }

    /// Discards the messages, and closes the outbox.
    func removeAll() { state.withLock { $0 = State() } }
}
