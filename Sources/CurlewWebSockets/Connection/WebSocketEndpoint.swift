internal import Curlew

/// The client's endpoint of a WebSocket. It passes events to the state machines and performs their actions.
///
/// It is used only on the loop of its connection, and none of its methods waits. Tasks use it through the actor
/// ``WebSocketConnection``.
final class WebSocketEndpoint: UpgradedConnectionUser {
    private let connection: any UpgradedConnection
    private let options: CurlewWebSocket.Options
    private let inbox: MessageInbox
    private let waiters: WebSocketWaiters

    // The state machines.
    private var receiver: MessageReceiver
    private(set) var sender: FrameSender
    private var closing = ClosingHandshake(role: .client)
    private var health: SocketHealth

    /// The buffer of the loop, which all its WebSockets share.
    private lazy var space = connection.loop.local(SharedBuffer.self) { SharedBuffer() }
    /// True if reading resumes in the next turn of the loop.
    private var isReadingScheduled = false
    private var readingAlarm: LoopAlarm?
    private var healthAlarm: LoopAlarm?
    /// The number of the newest ping that was answered.
    private(set) var answeredPing: UInt64 = 0
    private var counted = CurlewWebSocket.Figures()

    // The end.
    private(set) var outcome = WebSocketOutcome()
    /// True if the connection is being closed, by the endpoint or by the engine.
    private var isEnding = false
    /// A reference to the endpoint itself while it closes without a user.
    private var lingering: WebSocketEndpoint?
    private var closeAlarm: LoopAlarm?

    /// The maximum work in a turn of the loop: the bytes that are read and decompressed. It keeps one peer from
    /// delaying the others.
    private static let turnBudget = 1 << 20

    init(
        _ connection: any UpgradedConnection, _ agreement: HandshakeAgreement, _ options: CurlewWebSocket.Options,
        _ inbox: MessageInbox, _ waiters: WebSocketWaiters
    ) {
        self.connection = connection
        self.options = options
        self.inbox = inbox
        self.waiters = waiters
        receiver = MessageReceiver(agreement.compression, options.limits)
        sender = FrameSender(agreement.compression, options)
        health = SocketHealth(options, at: .now)
    }

    /// Starts reading.
    /// - Throws: The error that has ended the connection.
    func start() throws {
        let loop = connection.loop
        closeAlarm = LoopAlarm(on: loop) { [weak self] in self?.closeTimedOut() }
        healthAlarm = LoopAlarm(on: loop) { [weak self] in self?.lookAtHealth() }
        readingAlarm = LoopAlarm(on: loop) { [weak self] in self?.readScheduled() }
        try connection.attach(self)
        sender.open()
        lookAtHealth()
        readOn()
    }

    // MARK: State

    /// The ending; nil while the WebSocket is open or closing.
    var ending: CurlewWebSocket.Ending? { outcome.ending }
    var figures: CurlewWebSocket.Figures {
        var figures = counted
        figures.sentMessages = sender.sentMessages
        figures.sentBytes = sender.sentBytes
        return figures
    }
    /// True if frames may be sent.
    var canSend: Bool { closing.canSend }
    /// True if the socket may still accept bytes.
    var isOutputOpen: Bool { ending == nil && !closing.isOutputBroken }
    /// True if the socket must be read: the inbox has room, or messages are discarded.
    var wantsInput: Bool {
        ending == nil && (receiver.isDiscarding || !closing.canReceive || !inbox.pausesReading())
    }
    /// True if the send buffer is full.
    var isFull: Bool { sender.count >= options.sendBufferSize.bytes }

    // MARK: Receiving

    /// Reads until the socket is empty, the inbox is full, or the work of a turn is done.
    func readOn() {
        guard !isReadingScheduled else { return }
        defer { updateWatch() }
        let space = space
        var budget = Self.turnBudget
        while wantsInput {
            guard budget > 0 else {
                scheduleReading()
                break
            }
            if !receiver.resume(in: &space.buffer) {
                guard let count = fill(space) else { break }
                budget -= count
            }
            parse(space, &budget)
        }
        // A single pong and a single system call answer all pings of a turn.
        if !sender.isEmpty { flush() }
        inbox.deliver()
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
            health.noteInput(at: connection.loop.now)
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
            guard wantsInput, budget > 0 else { return receiver.suspend(&space.buffer) }
            do throws(WebSocketViolation) {
                guard let step = try receiver.next(in: &space.buffer, &budget) else { return }
                take(step)
            } catch {
                perform(closing.handle(.peerViolated(error)))
            }
        }
        // After the peer's close frame or a violation, only the end of the connection matters.
        space.buffer.discardAll()
    }

    private func take(_ step: MessageReceiver.Step) {
        switch step {
        case .progress: break
        case .part(let part): append(part)
        case .ping(let payload):
            counted.receivedPings += 1
            if closing.answersPings { sender.answer(payload) }
        case .pong(let payload): takePong(payload)
        case .close(let status):
            sender.dropPong()
            perform(closing.handle(.closeReceived(status)))
        }
    }

    private func append(_ part: CurlewWebSocket.Part) {
        health.noteMessage(at: connection.loop.now)
        counted.receivedBytes += Int64(part.bytes.count)
        if part.isLast { counted.receivedMessages += 1 }
        inbox.append(part)
    }

    /// Delivers messages in parts from now on.
    func deliverParts() {
        // A part may be here already, and the next one may arrive much later.
        guard let part = receiver.deliverParts() else { return }
        append(part)
        inbox.deliver()
    }

    /// Resumes reading with the timers of the next turn. A job of the loop would run before the other sockets are read.
    func scheduleReading() {
        guard !isReadingScheduled, ending == nil else { return }
        isReadingScheduled = true
        readingAlarm?.set(to: .now)
    }

    private func readScheduled() {
        isReadingScheduled = false
        readOn()
    }

    // MARK: Sending

    /// Begins or ends the turn of a sender. The messages that were handed over before a turn precede its messages.
    func setTurn(_ isTaken: Bool) {
        sender.isTurnTaken = isTaken
        if isTaken { sendOutbox() }
    }

    /// Sends the messages that were handed over.
    func sendOutbox() {
        guard sender.writeOutbox() else { return }
        health.noteMessage(at: connection.loop.now)
        flush()
    }

    /// Sends a message in one frame.
    func send(_ message: CurlewWebSocket.Message) throws {
        try write { sender throws(WebSocketViolation) in try sender.write(message) }
    }

    /// Begins a message of several frames.
    func beginMessage(_ kind: CurlewWebSocket.Message.Kind) { sender.begin(kind) }

    /// Sends a frame of the message that was begun.
    func send(part: ArraySlice<UInt8>, isLast: Bool) throws {
        try write { sender throws(WebSocketViolation) in try sender.write(part: part, isLast: isLast) }
    }

    private func write(_ body: (inout FrameSender) throws(WebSocketViolation) -> Void) throws {
        health.noteMessage(at: connection.loop.now)
        do throws(WebSocketViolation) {
            try body(&sender)
        } catch {
            close(error.closeCode, error.description)
            throw CurlewError(.webSocketFailed, "a message cannot be sent: \(error)")
        }
        flush()
    }

    private func flush() {
        guard isOutputOpen else { return }
        switch sender.flush(to: connection) {
        case .blocked, .flushed: break
        case .closeFlushed: perform(closing.handle(.closeFlushed))
        case .failed(let error): outputBreaks(error)
        }
        if !isFull || !canSend { waiters.room.resumeAll() }
        updateWatch()
    }

    /// Handles a failed write. The messages and the close frame that the peer sent before are still read.
    private func outputBreaks(_ error: CurlewError) {
        noteFailure(error)
        sender.removeAll()
        perform(closing.handle(.outputBroke))
        guard ending == nil else { return }
        waiters.endSending(error)
    }

    // MARK: Pings

    /// Sends a ping.
    /// - Returns: Its number.
    @discardableResult
    func ping() -> UInt64 {
        let number = sender.ping()
        counted.sentPings += 1
        flush()
        return number
    }

    private func takePong(_ payload: [UInt8]) {
        guard let number = sender.number(ofPing: payload) else { return }
        // A pong also answers all earlier pings.
        answeredPing = max(answeredPing, number)
        waiters.pingers.resumeAll()
    }

    private func lookAtHealth() {
        guard ending == nil else { return }
        let isReading = wantsInput && closing.canReceive
        switch health.look(at: .now, isReading: isReading) {
        case .wait: break
        case .ping:
            if canSend { ping() }
        case .freeMemory:
            receiver.freeIdleMemory()
            sender.freeIdleMemory()
        case .lost:
            connectionBreaks(
                CurlewError(.idleTimeout, "the peer did not answer a ping within \(options.pongTimeout.text)"))
        case .idle:
            outcome.noteIdle()
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

    /// Closes the WebSocket, and discards the received messages and all later ones.
    func end(_ code: CurlewWebSocket.CloseCode) {
        receiver.discard()
        inbox.removeAll()
        close(code)
        readOn()
    }

    /// Closes a WebSocket that has no user any more. The endpoint is retained until its end.
    func linger(_ code: CurlewWebSocket.CloseCode) {
        guard ending == nil else { return }
        lingering = self
        end(code)
    }

    private func closeTimedOut() {
        // The messages of a lost peer wait for their reader like those of any other peer.
        guard !closing.isOutputBroken || wantsInput else { return startCloseTimer() }
        perform(closing.handle(.timedOut))
    }

    private func startCloseTimer() {
        closeAlarm?.set(to: Instant.now.advanced(by: options.closeTimeout.nanosecondsClamped))
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
        guard case .ended(let ending) = closing.state, let error = outcome.error(of: ending) else {
            return connection.close()
        }
        connection.fail(error)
    }

    private func finish(_ ending: CurlewWebSocket.Ending) {
        outcome.finish(ending)
        closeAlarm?.cancel()
        healthAlarm?.cancel()
        readingAlarm?.cancel()
        receiver.removeAll()
        sender.removeAll()
        defer { lingering = nil }
        inbox.finish(throwing: outcome.error)
        waiters.closers.resumeAll()
        waiters.endSending(outcome.sendingError)
    }

    // MARK: The connection

    func connectionIsReady() {
        flush()
        readOn()
    }

    func sessionEnds() { close(.goingAway) }

    /// Handles the end of the connection by the engine. A last close frame is sent if the socket accepts it at once.
    func connectionEnds(_ error: CurlewError) {
        guard ending == nil, !isEnding else { return }
        noteFailure(error)
        isEnding = true
        if canSend { close(.goingAway) }
        perform(closing.handle(.connectionEnded))
    }

    private func connectionBreaks(_ error: CurlewError) {
        noteFailure(error)
        perform(closing.handle(.connectionEnded))
    }

    /// Records the error that ends the connection. After both close frames, the end of the connection is a success.
    private func noteFailure(_ error: CurlewError) {
        if !closing.hasBothFrames { outcome.noteFailure(error) }
    }

    private func updateWatch() {
        guard ending == nil else { return }
        connection.watch(reading: wantsInput, writing: !sender.isEmpty)
    }
}
