internal import Curlew

/// The connection of a WebSocket, on its loop. It passes events to the state machines and performs their actions.
actor WebSocketConnection: LoopActor, UpgradedConnectionUser {
    nonisolated let loop: CurlewEventLoop
    nonisolated let inbox: MessageInbox
    nonisolated let options: CurlewWebSocket.Options
    private let connection: any UpgradedConnection

    // The state machines.
    private var reader: MessageReader
    private var sender: FrameSender
    private var closing = ClosingHandshake(role: .client)
    private var health: SocketHealth

    // Receiving.
    /// The message, or the part of it, that is being received.
    private var message: [UInt8] = []
    private var kind = CurlewWebSocket.Message.Kind.binary
    private var isFirstPart = true
    private var deliversParts = false
    /// Bytes that were read from the socket and are not parsed.
    private var rest: MessageReader.Rest?
    /// True if received messages are discarded.
    private var isDiscarding = false
    /// True if reading resumes in the next turn of the loop.
    private var isReadingScheduled = false
    private var readingAlarm: LoopAlarm?

    // Waiting tasks.
    private let readers: LoopWaiters
    private let writers: LoopWaiters
    private let room: LoopWaiters
    private let closers: LoopWaiters
    private let pingers: LoopWaiters
    /// The number of the newest ping that was answered.
    private var answeredPing: UInt64 = 0
    /// True while a writer has its turn.
    private var isWriting = false
    /// The deadline of an unfinished message whose task is cancelled.
    private var messageAlarm: LoopAlarm?
    private var isMessageCancelled = false
    /// The number of the writer's turn. It distinguishes a late cancellation from one of the present message.
    private var turn = 0

    private(set) var figures = CurlewWebSocket.Figures()

    // The end.
    private(set) var ending: CurlewWebSocket.Ending?
    /// The error that has ended the connection.
    private var failure: CurlewError?
    /// True if the connection is being closed, by this actor or by the engine.
    private var isEnding = false
    /// True if the WebSocket is closed because of its idle timeout.
    private var isIdle = false
    /// A reference to the connection itself while it closes without a user.
    private var lingering: WebSocketConnection?
    private var closeAlarm: LoopAlarm?
    private var healthAlarm: LoopAlarm?

    /// The maximum work in a turn of the loop: the bytes that are read and decompressed. It keeps one peer from
    /// delaying the others.
    private static let turnBudget = 1 << 20
    /// The work that a frame counts in addition to its bytes.
    private static let frameCost = 128

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ connection: any UpgradedConnection, _ agreement: HandshakeAgreement, _ options: CurlewWebSocket.Options) {
        self.connection = connection
        self.options = options
        loop = connection.loop
        inbox = MessageInbox(limit: options.receiveBufferSize.bytes)
        reader = MessageReader(role: .client, limits: options.limits, compression: agreement.compression)
        sender = FrameSender(agreement.compression, options)
        health = SocketHealth(options, at: .now)
        readers = LoopWaiters(on: loop)
        writers = LoopWaiters(on: loop)
        room = LoopWaiters(on: loop)
        closers = LoopWaiters(on: loop)
        pingers = LoopWaiters(on: loop)
    }

    /// Starts reading.
    /// - Throws: The error that has ended the connection.
    func start() throws {
        closeAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.closeTimedOut() }
        }
        healthAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.lookAtHealth() }
        }
        readingAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in
                connection.isReadingScheduled = false
                connection.readOn()
            }
        }
        messageAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.messageTimedOut() }
        }
        try connection.attach(self)
        lookAtHealth()
        readOn()
    }

    // MARK: The socket

    nonisolated func connectionIsReady() { enter(()) { connection, _ in connection.isReady() } }

    private func isReady() {
        flush()
        readOn()
    }

    private func updateWatch() {
        guard ending == nil else { return }
        connection.watch(reading: wantsInput, writing: !sender.isEmpty)
    }

    // MARK: Receiving

    /// True if the socket must be read: the inbox has room, or messages are discarded.
    private var wantsInput: Bool {
        ending == nil && (isDiscarding || !closing.canReceive || !inbox.pausesReading())
    }

    /// Reads until the socket is empty, the inbox is full, or the work of a turn is done.
    private func readOn() {
        guard !isReadingScheduled else { return }
        defer { updateWatch() }
        let space = loop.local(SharedBuffer.self) { SharedBuffer() }
        var budget = Self.turnBudget
        while wantsInput {
            guard budget > 0 else {
                scheduleReading()
                break
            }
            if let rest = rest.take() {
                reader.resume(rest, in: &space.buffer)
            } else {
                guard let count = fill(space) else { break }
                budget -= count
            }
            parse(space, &budget)
        }
        // A single pong and a single system call answer all pings of a turn.
        if !sender.isEmpty { flush() }
        deliver()
    }

    /// Fills the buffer from the socket.
    /// - Returns: The number of bytes; nil if the socket has none.
    private func fill(_ space: SharedBuffer) -> Int? {
        var received = UpgradedInput.nothing
        space.buffer.fill { memory in
            received = connection.read(into: memory)
            if case .bytes(let count) = received { return count }
            return 0
        }
        switch received {
        case .bytes(let count):
            health.noteInput(at: .now)
            return count
        case .nothing: break
        case .end: perform(closing.handle(.connectionEnded))
        case .failed(let error): connectionBreaks(error)
        }
        return nil
    }

    /// Parses the buffer while the inbox has room and the budget lasts, and keeps the rest.
    private func parse(_ space: SharedBuffer, _ budget: inout Int) {
        while closing.canReceive {
            guard wantsInput, budget > 0 else {
                rest = reader.suspend(&space.buffer)
                return
            }
            do throws(WebSocketViolation) {
                let frames = reader.frameCount
                defer { budget -= (reader.frameCount - frames) * Self.frameCost }
                guard let event = try reader.next(in: &space.buffer, into: &message) else { return }
                if case .chunk(let count) = event { budget -= count }
                take(event)
            } catch {
                message = []
                perform(closing.handle(.peerViolated(error)))
            }
        }
        // After the peer's close frame or a violation, only the end of the connection matters.
        space.buffer.discardAll()
    }

    private func take(_ event: MessageEvent) {
        switch event {
        case .begin(let kind):
            self.kind = kind
            isFirstPart = true
            message = []
        case .chunk: if deliversParts { appendPart(isLast: false) }
        case .end: appendPart(isLast: true)
        case .ping(let payload):
            figures.receivedPings += 1
            if closing.answersPings { sender.answer(payload) }
        case .pong(let payload): takePong(payload)
        case .close(let status):
            sender.dropPong()
            perform(closing.handle(.closeReceived(status)))
        }
    }

    private func appendPart(isLast: Bool) {
        var bytes: [UInt8] = []
        swap(&bytes, &message)
        health.noteMessage(at: .now)
        figures.receivedBytes += Int64(bytes.count)
        if isLast { figures.receivedMessages += 1 }
        if !isDiscarding {
            inbox.append(CurlewWebSocket.Part(kind: kind, bytes: bytes, isFirst: isFirstPart, isLast: isLast))
        }
        isFirstPart = false
    }

    /// Resumes reading with the timers of the next turn. A job of the loop would run before the other sockets are read.
    private func scheduleReading() {
        guard !isReadingScheduled, ending == nil else { return }
        isReadingScheduled = true
        readingAlarm?.set(to: .now)
    }

    /// Discards the received messages and all later ones.
    private func discard() {
        isDiscarding = true
        message = []
        inbox.removeAll()
        reader.discardMessages()
    }

    // MARK: Delivering

    private func deliver() {
        guard !readers.isEmpty else { return }
        if !inbox.isEmpty || ending != nil { readers.resumeAll() }
    }

    /// Delivers messages in parts from now on.
    func deliverParts() {
        deliversParts = true
        reader.collectsMessages = false
        // A part may be here already, and the next one may arrive much later.
        guard !message.isEmpty, !isDiscarding else { return }
        appendPart(isLast: false)
        deliver()
    }

    /// Resumes reading after the reader has made room.
    nonisolated func madeRoom() {
        loop.execute { [weak self] in self?.enter(()) { connection, _ in connection.scheduleReading() } }
    }

    /// Waits until the inbox has a part.
    /// - Returns: False after the last part.
    func waitForPart() async throws -> Bool {
        readOn()
        while inbox.isEmpty {
            if let ending {
                guard let error = error(of: ending) else { return false }
                throw error
            }
            guard readers.isEmpty else {
                throw CurlewError(.responseAlreadyTaken, "two readers wait for the messages of one WebSocket")
            }
            try await readers.wait(while: inbox.isEmpty && ending == nil)
        }
        return true
    }

    /// The error that ends the messages; nil if either side has closed the WebSocket.
    private func error(of ending: CurlewWebSocket.Ending) -> CurlewError? {
        switch ending.cause {
        case .closedByPeer, .closedLocally: nil
        case .idle where ending.isClean: nil
        case .idle:
            failure ?? CurlewError(.idleTimeout, "no message came or went, and the peer did not answer the close frame")
        case .violation(let text): CurlewError(.webSocketFailed, "the peer broke the protocol: \(text)")
        case .connectionLost:
            failure ?? CurlewError(.connectionLost, "the connection ended without a close frame")
        case .timedOut: CurlewError(.webSocketFailed, "the peer did not answer the close frame in time")
        }
    }

    // MARK: Sending

    /// Sends a message: in one frame, or in several if it is larger than ``CurlewWebSocket/Options/fragmentSize``.
    func send(_ message: CurlewWebSocket.Message) async throws {
        try await takeTurn()
        defer { endTurn() }
        guard message.size > options.fragmentSize.bytes else {
            return try write(message.size, isLast: true) { sender throws(WebSocketViolation) in
                try sender.write(message)
            }
        }
        try beginMessage(message.kind)
        try await continueMessage(message.bytes[...], isLast: true)
    }

    /// Waits for the turn of a writer, and for room.
    func takeTurn() async throws {
        while isWriting { try await writers.wait(while: isWriting) }
        isWriting = true
        turn += 1
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
        messageAlarm?.cancel()
        writers.resumeFirst()
    }

    func beginMessage(_ kind: CurlewWebSocket.Message.Kind) throws {
        try checkOpen()
        sender.begin(kind)
    }

    /// Sends a part of the message that was begun, in fragments of at most ``CurlewWebSocket/Options/fragmentSize``.
    func continueMessage(_ bytes: ArraySlice<UInt8>, isLast: Bool) async throws {
        var rest = bytes
        repeat {
            let fragment = rest.prefix(options.fragmentSize.bytes)
            rest = rest.dropFirst(fragment.count)
            let isEnd = isLast && rest.isEmpty
            try await waitToContinue()
            try write(fragment.count, isLast: isEnd) { sender throws(WebSocketViolation) in
                try sender.write(part: fragment, isLast: isEnd)
            }
        } while !rest.isEmpty
    }

    /// Waits for room for the rest of a message. A cancellation only limits the wait, because an immediate end would
    /// leave the message incomplete.
    private func waitToContinue() async throws {
        try checkOpen()
        while isFull {
            try await withTaskCancellationHandler {
                try await room.wait(while: isFull && closing.canSend, isShielded: true)
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

    private func write(
        _ size: Int, isLast: Bool, _ body: (inout FrameSender) throws(WebSocketViolation) -> Void
    ) throws {
        health.noteMessage(at: .now)
        do throws(WebSocketViolation) {
            try body(&sender)
        } catch {
            close(error.closeCode, error.description)
            throw CurlewError(.webSocketFailed, "a message cannot be sent: \(error)")
        }
        figures.sentBytes += Int64(size)
        if isLast { figures.sentMessages += 1 }
        flush()
    }

    private func waitForRoom() async throws {
        try checkOpen()
        while isFull {
            try await room.wait(while: isFull && closing.canSend)
            try checkOpen()
        }
    }

    /// True if a fragment of an unfinished message was sent.
    var isMessageOpen: Bool { sender.isMessageOpen }
    /// The number of unsent bytes.
    var queuedBytes: Int { sender.count }
    /// The capacity of the send buffer, in bytes.
    var sendBufferCapacity: Int { sender.capacity }
    /// True if the socket is not read because the inbox is full.
    var isReadingPaused: Bool { !wantsInput }
    /// True if the send buffer is full.
    var isFull: Bool { sender.count >= options.sendBufferSize.bytes }

    private func checkOpen() throws {
        guard closing.canSend else { throw Task.isCancelled ? CurlewError.taskCancelled : endOfSending }
    }

    private var endOfSending: CurlewError {
        (ending.map { error(of: $0) } ?? failure) ?? CurlewError(.webSocketClosed, "the WebSocket is closed")
    }

    private func flush() {
        guard ending == nil, !closing.isOutputBroken else { return }
        switch sender.flush(to: connection) {
        case .blocked, .flushed: break
        case .closeFlushed: perform(closing.handle(.closeFlushed))
        case .failed(let error): outputBreaks(error)
        }
        if !isFull || !closing.canSend { room.resumeAll() }
        updateWatch()
    }

    /// Handles a failed write. The messages and the close frame that the peer sent before are still read.
    private func outputBreaks(_ error: CurlewError) {
        if !closing.hasBothFrames { failure = failure ?? error }
        sender.removeAll()
        perform(closing.handle(.outputBroke))
        guard ending == nil else { return }
        endSending(error)
    }

    private func endSending(_ error: CurlewError) {
        room.resumeAll(throwing: error)
        writers.resumeAll(throwing: error)
        pingers.resumeAll(throwing: error)
    }

    // MARK: Pings

    /// Sends a ping as soon as the send buffer has room, and waits for its pong.
    func ping() async throws {
        try await waitForRoom()
        if Task.isCancelled { throw CurlewError.taskCancelled }
        let number = sendPing()
        while answeredPing < number {
            guard ending == nil, !closing.isOutputBroken else { throw endOfSending }
            try await pingers.wait(while: answeredPing < number && ending == nil)
        }
    }

    @discardableResult
    private func sendPing() -> UInt64 {
        let number = sender.ping()
        figures.sentPings += 1
        flush()
        return number
    }

    private func takePong(_ payload: [UInt8]) {
        guard let number = sender.number(ofPing: payload) else { return }
        // A pong also answers all earlier pings.
        answeredPing = max(answeredPing, number)
        pingers.resumeAll()
    }

    private func lookAtHealth() {
        guard ending == nil else { return }
        let isReading = wantsInput && closing.canReceive
        switch health.look(at: .now, isReading: isReading) {
        case .wait: break
        case .ping:
            if closing.canSend { sendPing() }
        case .freeMemory:
            reader.freeIdleMemory()
            sender.freeIdleMemory()
        case .lost:
            connectionBreaks(
                CurlewError(.idleTimeout, "the peer did not answer a ping within \(options.pongPatience)"))
        case .idle:
            isIdle = true
            close(.goingAway, "idle")
        }
        guard ending == nil else { return }
        healthAlarm?.set(to: health.nextLook)
    }

    // MARK: Closing

    /// Closes the WebSocket, unless it is closed or closing.
    func close(_ code: CurlewWebSocket.CloseCode, _ reason: String = "") {
        guard let status = CurlewWebSocket.CloseStatus(code, reason: reason) else { return }
        close(status)
    }

    func close(_ status: CurlewWebSocket.CloseStatus) {
        perform(closing.handle(.closeRequested(status)))
        updateWatch()
    }

    /// Closes the WebSocket and discards further messages. It takes at most ``CurlewWebSocket/Options/closeTimeout``,
    /// even in a cancelled task.
    func end(_ code: CurlewWebSocket.CloseCode) async -> CurlewWebSocket.Ending {
        discard()
        close(code)
        readOn()
        while true {
            if let ending { return ending }
            try? await closers.wait(while: ending == nil, isShielded: true)
        }
    }

    /// Closes the WebSocket. It may be called on any thread.
    nonisolated func closeSoon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [weak self] in self?.enter(code) { $0.close($1) } }
    }

    /// Closes a WebSocket that has no user any more. It may be called on any thread. The connection is retained until
    /// its end.
    nonisolated func abandon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [self] in enter(code) { $0.linger($1) } }
    }

    private func linger(_ code: CurlewWebSocket.CloseCode) {
        guard ending == nil else { return }
        lingering = self
        discard()
        close(code)
        readOn()
    }

    private func closeTimedOut() {
        // The messages of a lost peer wait for their reader like those of any other peer.
        guard !closing.isOutputBroken || wantsInput else { return startCloseTimer() }
        perform(closing.handle(.timedOut))
    }

    private func startCloseTimer() {
        closeAlarm?.set(to: Instant.now.advanced(by: options.closeTimeout.nanosecondsClamped))
    }

    private func connectionBreaks(_ error: CurlewError) {
        if !closing.hasBothFrames { failure = failure ?? error }
        perform(closing.handle(.connectionEnded))
    }

    private func perform(_ actions: [ClosingHandshake.Action]) {
        for action in actions {
            // The flush of a close frame may have ended the connection.
            guard ending == nil else { return }
            switch action {
            case .sendClose(let status):
                sender.close(status)
                flush()
            case .startTimer: startCloseTimer()
            case .closeConnection: closeConnection()
            case .finish(let ending): finish(ending)
            }
        }
    }

    /// Ends the exchange: with success if the WebSocket was closed, and otherwise with its error. Listeners and metrics
    /// get this result.
    private func closeConnection() {
        guard !isEnding else { return }
        isEnding = true
        guard case .ended(let ending) = closing.state, let error = error(of: named(ending)) else {
            return connection.close()
        }
        connection.fail(error)
    }

    /// The ending, with the idle timeout as its cause. The closing handshake does not know that cause.
    private func named(_ ending: CurlewWebSocket.Ending) -> CurlewWebSocket.Ending {
        guard isIdle else { return ending }
        switch ending.cause {
        case .closedByPeer, .violation, .idle: return ending
        case .closedLocally, .connectionLost, .timedOut:
            return CurlewWebSocket.Ending(cause: .idle, sent: ending.sent, received: ending.received)
        }
    }

    private func finish(_ ending: CurlewWebSocket.Ending) {
        self.ending = named(ending)
        closeAlarm?.cancel()
        healthAlarm?.cancel()
        readingAlarm?.cancel()
        messageAlarm?.cancel()
        rest = nil
        message = []
        sender.removeAll()
        defer { lingering = nil }
        readers.resumeAll()
        closers.resumeAll()
        endSending(endOfSending)
    }

    // MARK: The session

    nonisolated func sessionEnds() { enter(()) { connection, _ in connection.close(.goingAway) } }

    nonisolated func connectionEnds(_ error: CurlewError) { enter(error) { $0.connectionIsEnded($1) } }

    /// Handles the end of the connection by the engine. A last close frame is sent if the socket accepts it at once.
    private func connectionIsEnded(_ error: CurlewError) {
        guard ending == nil, !isEnding else { return }
        if !closing.hasBothFrames { failure = failure ?? error }
        isEnding = true
        if closing.canSend { close(.goingAway) }
        perform(closing.handle(.connectionEnded))
    }
}

extension CurlewError {
    static var taskCancelled: CurlewError { CurlewError(.cancelled, "the task was cancelled") }
}

/// The buffer into which the sockets of a loop are read, one after the other.
private final class SharedBuffer {
    var buffer = ReceiveBuffer()
}
