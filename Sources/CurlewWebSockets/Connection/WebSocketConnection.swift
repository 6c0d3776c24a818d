internal import Curlew

/// The connection of a WebSocket, on its loop. Its tasks wait here for room, pongs and the end.
actor WebSocketConnection: LoopActor {
    nonisolated let loop: CurlewEventLoop
    nonisolated let inbox: MessageInbox
    private nonisolated let outbox: MessageOutbox
    private nonisolated let options: CurlewWebSocket.Options
    private let endpoint: WebSocketEndpoint
    private let waiters: WebSocketWaiters

    // The turn of a writer.
    /// True while a writer has its turn.
    private var isWriting = false
    /// The number of the writer's turn. It distinguishes a late cancellation from one of the present message.
    private var turn = 0
    private var isMessageCancelled = false
    /// The deadline of an unfinished message whose task is cancelled.
    private var messageAlarm: LoopAlarm?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ connection: any UpgradedConnection, _ agreement: HandshakeAgreement, _ options: CurlewWebSocket.Options) {
        let inbox = MessageInbox(limit: options.receiveBufferSize.bytes)
        let waiters = WebSocketWaiters(on: connection.loop)
        loop = connection.loop
        self.inbox = inbox
        self.options = options
        self.waiters = waiters
        endpoint = WebSocketEndpoint(connection, agreement, options, inbox, waiters)
        outbox = endpoint.sender.outbox
    }

    /// Starts reading.
    /// - Throws: The error that has ended the connection.
    func start() throws {
        messageAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.messageTimedOut() }
        }
        try endpoint.start()
    }

    // MARK: State

    var figures: CurlewWebSocket.Figures {
        endpoint.sendOutbox()
        return endpoint.figures
    }
    /// The ending; nil while the WebSocket is open or closing.
    var ending: CurlewWebSocket.Ending? { endpoint.ending }
    /// True if the socket is not read because the inbox is full.
    var isReadingPaused: Bool { !endpoint.wantsInput }
    /// True if the send buffer is full.
    var isFull: Bool {
        endpoint.sendOutbox()
        return endpoint.isFull
    }
    /// True if a fragment of an unfinished message was sent.
    var isMessageOpen: Bool { endpoint.sender.isMessageOpen }
    /// The number of unsent bytes.
    var queuedBytes: Int {
        endpoint.sendOutbox()
        return endpoint.sender.count
    }
    /// The capacity of the send buffer, in bytes.
    var sendBufferCapacity: Int { endpoint.sender.capacity }

    // MARK: Receiving

    /// Delivers messages in parts from now on.
    func deliverParts() { endpoint.deliverParts() }

    /// The next part; nil at the end.
    nonisolated func nextPart() async throws -> CurlewWebSocket.Part? {
        while true {
            if Task.isCancelled { throw CurlewError.taskCancelled }
            switch inbox.take() {
            case .part(let part, let resumes):
                if resumes { madeRoom() }
                return part
            case .end:
                // A cancellation also closes the WebSocket, and the close may be noticed first.
                if Task.isCancelled { throw CurlewError.taskCancelled }
                return nil
            case .failure(let error): throw error
            case .nothing(let number): try await inbox.wait(number)
            }
        }
    }

    /// Resumes reading after the reader has made room.
    private nonisolated func madeRoom() {
        loop.execute { [weak self] in self?.enter(()) { connection, _ in connection.endpoint.scheduleReading() } }
    }

    // MARK: Sending

    /// Sends a message. If the send buffer is empty, the message is handed over to the loop, and the task does not
    /// wait.
    nonisolated func send(_ message: CurlewWebSocket.Message) async throws {
        if Task.isCancelled { throw CurlewError.taskCancelled }
        let size = message.size
        guard size <= options.fragmentSize.bytes, case .taken(let isFirst) = outbox.offer(message, size: size) else {
            return try await sendInTurn(message)
        }
        guard isFirst else { return }
        loop.execute { [self] in enter(()) { connection, _ in connection.endpoint.sendOutbox() } }
    }

    /// Sends a message: in one frame, or in several if it is larger than ``CurlewWebSocket/Options/fragmentSize``.
    private func sendInTurn(_ message: CurlewWebSocket.Message) async throws {
        try await takeTurn()
        defer { endTurn() }
        guard message.size > options.fragmentSize.bytes else { return try endpoint.send(message) }
        try beginMessage(message.kind)
        try await continueMessage(message.bytes[...], isLast: true)
    }

    /// Waits for the turn of a writer, and for room.
    func takeTurn() async throws {
        while isWriting { try await waiters.writers.wait(while: isWriting) }
        isWriting = true
        turn += 1
        endpoint.setTurn(true)
        do {
            try await waitForRoom()
            if Task.isCancelled { throw CurlewError.taskCancelled }
        } catch {
            endTurn()
            throw error
        }
    }

    func endTurn() {
        isWriting = false
        isMessageCancelled = false
        endpoint.setTurn(false)
        messageAlarm?.cancel()
        waiters.writers.resumeFirst()
    }

    func beginMessage(_ kind: CurlewWebSocket.Message.Kind) throws {
        try checkOpen()
        endpoint.beginMessage(kind)
    }

    /// Sends a part of the message that was begun, in fragments of at most ``CurlewWebSocket/Options/fragmentSize``.
    func continueMessage(_ bytes: ArraySlice<UInt8>, isLast: Bool) async throws {
        var rest = bytes
        repeat {
            let fragment = rest.prefix(options.fragmentSize.bytes)
            rest = rest.dropFirst(fragment.count)
            try await waitToContinue()
            try endpoint.send(part: fragment, isLast: isLast && rest.isEmpty)
        } while !rest.isEmpty
    }

    /// Waits for room for the rest of a message. A cancellation only limits the wait, because an immediate end would
    /// leave the message incomplete.
    private func waitToContinue() async throws {
        try checkOpen()
        while endpoint.isFull {
            try await withTaskCancellationHandler {
                try await waiters.room.wait(while: endpoint.isFull && endpoint.canSend, isShielded: true)
            } onCancel: { [turn] in
                loop.execute { [weak self] in self?.enter(turn) { $0.messageIsCancelled($1) } }
            }
            try checkOpen()
        }
    }

    private func messageIsCancelled(_ turn: Int) {
        guard isWriting, turn == self.turn, !isMessageCancelled else { return }
        isMessageCancelled = true
        messageAlarm?.set(to: Instant.now.advanced(by: options.closeTimeout.nanosecondsClamped))
    }

    private func messageTimedOut() { if isWriting, isMessageCancelled { abandonMessage() } }

    /// Closes the WebSocket, because no message can follow an incomplete one.
    func abandonMessage() { close(.internalError, "a message was not finished") }

    private func waitForRoom() async throws {
        try checkOpen()
        while endpoint.isFull {
            try await waiters.room.wait(while: endpoint.isFull && endpoint.canSend)
            try checkOpen()
        }
    }

    private func checkOpen() throws {
        guard !endpoint.canSend else { return }
        throw Task.isCancelled ? CurlewError.taskCancelled : endpoint.outcome.sendingError
    }

    /// Sends a ping as soon as the send buffer has room, and waits for its pong.
    func ping() async throws {
        try await waitForRoom()
        if Task.isCancelled { throw CurlewError.taskCancelled }
        endpoint.sendOutbox()
        let number = endpoint.ping()
        while endpoint.answeredPing < number {
            guard endpoint.isOutputOpen else { throw endpoint.outcome.sendingError }
            try await waiters.pingers.wait(while: endpoint.answeredPing < number && ending == nil)
        }
    }

    // MARK: Closing

    /// Closes the WebSocket, unless it is closed or closing.
    func close(_ code: CurlewWebSocket.CloseCode, _ reason: String = "") { endpoint.close(code, reason) }

    func close(_ status: CurlewWebSocket.CloseStatus) { endpoint.close(status) }

    /// Closes the WebSocket and discards further messages. It takes at most ``CurlewWebSocket/Options/closeTimeout``,
    /// even in a cancelled task.
    func end(_ code: CurlewWebSocket.CloseCode) async -> CurlewWebSocket.Ending {
        endpoint.end(code)
        while true {
            if let ending { return ending }
            try? await waiters.closers.wait(while: ending == nil, isShielded: true)
        }
    }

    /// Closes the WebSocket. It may be called on any thread.
    nonisolated func closeSoon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [weak self] in self?.enter(code) { $0.close($1) } }
    }

    /// Closes a WebSocket that has no user any more. It may be called on any thread. The endpoint is retained until its
    /// end.
    nonisolated func abandon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [self] in enter(code) { $0.endpoint.linger($1) } }
    }
}

extension CurlewError {
    static var taskCancelled: CurlewError { CurlewError(.cancelled, "the task was cancelled") }
}
