internal import Curlew

/// The connection of a WebSocket, on its loop: it drives the machines, and performs what they say.
actor WebSocketConnection: LoopActor, UpgradedConnectionUser {
    nonisolated let loop: CurlewEventLoop
    nonisolated let inbox: MessageInbox
    nonisolated let options: CurlewWebSocket.Options
    private let connection: any UpgradedConnection

    // The machines.
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
    /// Bytes that were read from the socket, and not parsed.
    private var rest: [UInt8] = []
    /// True once nothing that comes is delivered any more.
    private var isDiscarding = false
    private var isReadingScheduled = false

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

    // The end.
    private(set) var ending: CurlewWebSocket.Ending?
    /// The fault that the connection has ended with.
    private var failure: CurlewError?
    /// True if the engine is closing the connection by itself.
    private var isEnding = false
    /// The connection itself, while nothing else holds it and it is closing.
    private var lingering: WebSocketConnection?
    private var closeAlarm: LoopAlarm?
    private var healthAlarm: LoopAlarm?

    /// The most readings of a socket in a turn of the loop.
    private static let turnLimit = 8

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

    /// Begins to read.
    /// - Throws: The error that the connection has ended with before.
    func start() throws {
        closeAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.closeTimedOut() }
        }
        healthAlarm = LoopAlarm(on: loop) { [weak self] in
            self?.enter(()) { connection, _ in connection.lookAtHealth() }
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

    /// True if the socket is to be read: its reader keeps up, or nothing is delivered any more.
    private var wantsInput: Bool {
        ending == nil && (isDiscarding || !closing.canReceive || !inbox.pausesReading())
    }

    private func readOn() {
        defer { updateWatch() }
        let space = loop.local(SharedBuffer.self) { SharedBuffer() }
        var turns = 0
        while wantsInput {
            if rest.isEmpty {
                guard turns < Self.turnLimit else {
                    scheduleReading()
                    break
                }
                turns += 1
                guard fill(space) else { break }
            } else {
                space.buffer.fill(with: rest)
                rest = []
            }
            parse(space)
        }
        deliver()
    }

    /// Fills the buffer from the socket.
    /// - Returns: False if there is nothing.
    private func fill(_ space: SharedBuffer) -> Bool {
        var received = UpgradedInput.nothing
        space.buffer.fill { memory in
            received = connection.read(into: memory)
            if case .bytes(let count) = received { return count }
            return 0
        }
        switch received {
        case .bytes:
            health.noteInput(at: .now)
            return true
        case .nothing: break
        case .end: perform(closing.handle(.connectionEnded))
        case .failed(let error): connectionBreaks(error)
        }
        return false
    }

    /// Takes what the buffer holds, as far as the reader keeps up, and keeps the rest.
    private func parse(_ space: SharedBuffer) {
        while closing.canReceive {
            guard wantsInput else {
                rest = space.buffer.takeRest()
                return
            }
            do throws(WebSocketViolation) {
                guard let event = try reader.next(in: &space.buffer, into: &message) else { return }
                take(event)
            } catch {
                message = []
                perform(closing.handle(.peerViolated(error)))
            }
        }
        // After the peer's close frame, and after a violation, nothing matters but the end.
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
            sender.answer(payload, ifOpen: closing.canSend)
            flush()
        case .pong(let payload): takePong(payload)
        case .close(let status): perform(closing.handle(.closeReceived(status)))
        }
    }

    private func appendPart(isLast: Bool) {
        var bytes: [UInt8] = []
        swap(&bytes, &message)
        health.noteMessage(at: .now)
        if !isDiscarding {
            inbox.append(CurlewWebSocket.Part(kind: kind, bytes: bytes, isFirst: isFirstPart, isLast: isLast))
        }
        isFirstPart = false
    }

    private func scheduleReading() {
        guard !isReadingScheduled else { return }
        isReadingScheduled = true
        loop.execute { [weak self] in
            self?.enter(()) { connection, _ in
                connection.isReadingScheduled = false
                connection.readOn()
            }
        }
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
    }

    /// The reader has made room.
    nonisolated func madeRoom() {
        loop.execute { [weak self] in self?.enter(()) { connection, _ in connection.readOn() } }
    }

    /// Waits until the inbox has something.
    /// - Returns: False once nothing more is to come.
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

    /// The error that the messages end with; nil if the peer has closed the WebSocket, or this side has.
    private func error(of ending: CurlewWebSocket.Ending) -> CurlewError? {
        switch ending.cause {
        case .closedByPeer: nil
        case .closedLocally: failure
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
            health.noteMessage(at: .now)
            return try write { sender throws(WebSocketViolation) in try sender.write(message) }
        }
        try beginMessage(message.kind)
        let bytes = message.bytes
        for start in stride(from: 0, to: bytes.count, by: options.fragmentSize.bytes) {
            let end = min(bytes.count, start + options.fragmentSize.bytes)
            try await continueMessage(bytes[start..<end], isLast: end == bytes.count)
        }
    }

    /// Waits for the turn of a writer, and for room.
    func takeTurn() async throws {
        while isWriting { try await writers.wait(while: isWriting) }
        isWriting = true
        do {
            try await waitForRoom(isShielded: false)
        } catch {
            endTurn()
            throw error
        }
    }

    func endTurn() {
        isWriting = false
        writers.resumeFirst()
    }

    func beginMessage(_ kind: CurlewWebSocket.Message.Kind) throws {
        try checkOpen()
        sender.begin(kind)
    }

    /// Sends a part of the message that was begun. A cancellation does not end the wait for room: the rest of the message would be missing.
    func continueMessage(_ bytes: ArraySlice<UInt8>, isLast: Bool) async throws {
        try await waitForRoom(isShielded: true)
        health.noteMessage(at: .now)
        try write { sender throws(WebSocketViolation) in try sender.write(part: bytes, isLast: isLast) }
    }

    /// A message cannot be finished, so no other may follow.
    func abandonMessage() { close(.internalError, "a message was not finished") }

    private func write(_ body: (inout FrameSender) throws(WebSocketViolation) -> Void) throws {
        do throws(WebSocketViolation) {
            try body(&sender)
        } catch {
            close(error.closeCode, error.description)
            throw CurlewError(.webSocketFailed, "a message cannot be sent: \(error)")
        }
        flush()
    }

    private func waitForRoom(isShielded: Bool) async throws {
        try checkOpen()
        while isFull {
            try await room.wait(while: isFull, isShielded: isShielded)
            try checkOpen()
        }
    }

    /// True if the peer has to read before more is sent.
    private var isFull: Bool { sender.count >= options.sendBufferSize.bytes }

    private func checkOpen() throws {
        guard closing.canSend else { throw Task.isCancelled ? CurlewError.taskCancelled : endOfSending }
    }

    private var endOfSending: CurlewError {
        failure ?? ending.flatMap { error(of: $0) } ?? CurlewError(.webSocketClosed, "the WebSocket is closed")
    }

    private func flush() {
        guard ending == nil else { return }
        switch sender.flush(to: connection) {
        case .blocked: break
        case .flushed: break
        case .closeFlushed: perform(closing.handle(.closeFlushed))
        case .failed(let error): connectionBreaks(error)
        }
        if !isFull || !closing.canSend { room.resumeAll() }
        updateWatch()
    }

    // MARK: Pings

    /// Sends a ping, and waits for its pong.
    func ping() async throws {
        try checkOpen()
        let number = sender.ping()
        flush()
        while answeredPing < number {
            guard ending == nil else { throw endOfSending }
            try await pingers.wait(while: answeredPing < number && ending == nil)
        }
    }

    private func takePong(_ payload: [UInt8]) {
        guard let number = sender.number(ofPing: payload) else { return }
        // A pong answers the pings before it as well.
        answeredPing = max(answeredPing, number)
        pingers.resumeAll()
    }

    private func lookAtHealth() {
        guard ending == nil else { return }
        let isReading = wantsInput && closing.canReceive
        switch health.look(at: .now, isReading: isReading) {
        case .wait: break
        case .ping:
            if closing.canSend {
                _ = sender.ping()
                flush()
            }
        case .freeMemory:
            reader.freeIdleMemory()
            sender.freeIdleMemory()
        case .lost:
            connectionBreaks(
                CurlewError(.idleTimeout, "the peer did not answer a ping within \(options.pongPatience)"))
        case .idle: close(.goingAway, "idle")
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

    /// Closes the WebSocket, and delivers nothing more. A cancellation does not end it: it takes ``CurlewWebSocket/Options/closeTimeout`` at most.
    func end(_ code: CurlewWebSocket.CloseCode) async -> CurlewWebSocket.Ending {
        isDiscarding = true
        inbox.removeAll()
        close(code)
        readOn()
        while true {
            if let ending { return ending }
            try? await closers.wait(while: ending == nil, isShielded: true)
        }
    }

    /// Closes the WebSocket, from any thread.
    nonisolated func closeSoon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [weak self] in self?.enter(code) { $0.close($1) } }
    }

    /// Closes the WebSocket that nobody uses any more, from any thread. It lives until its end.
    nonisolated func abandon(_ code: CurlewWebSocket.CloseCode) {
        loop.execute { [self] in enter(code) { $0.linger($1) } }
    }

    private func linger(_ code: CurlewWebSocket.CloseCode) {
        guard ending == nil else { return }
        lingering = self
        isDiscarding = true
        inbox.removeAll()
        close(code)
        readOn()
    }

    private func closeTimedOut() { perform(closing.handle(.timedOut)) }

    private func connectionBreaks(_ error: CurlewError) {
        failure = failure ?? error
        perform(closing.handle(.connectionEnded))
    }

    private func perform(_ actions: [ClosingHandshake.Action]) {
        for action in actions {
            switch action {
            case .sendClose(let status):
                sender.close(status)
                flush()
            case .startTimer:
                closeAlarm?.set(to: Instant.now.advanced(by: options.closeTimeout.nanosecondsClamped))
            case .closeConnection: if !isEnding { connection.close() }
            case .finish(let ending): finish(ending)
            }
        }
    }

    private func finish(_ ending: CurlewWebSocket.Ending) {
        self.ending = ending
        closeAlarm?.cancel()
        healthAlarm?.cancel()
        rest = []
        message = []
        sender.removeAll()
        defer { lingering = nil }
        readers.resumeAll()
        closers.resumeAll()
        let error = endOfSending
        room.resumeAll(throwing: error)
        writers.resumeAll(throwing: error)
        pingers.resumeAll(throwing: error)
    }

    // MARK: The session

    nonisolated func sessionEnds() { enter(()) { connection, _ in connection.close(.goingAway) } }

    nonisolated func connectionEnds(_ error: CurlewError) { enter(error) { $0.connectionIsEnded($1) } }

    /// The engine ends the connection. A last close frame goes out if the peer takes it at once.
    private func connectionIsEnded(_ error: CurlewError) {
        guard ending == nil else { return }
        failure = failure ?? error
        isEnding = true
        if closing.canSend { close(.goingAway) }
        perform(closing.handle(.connectionEnded))
    }
}

extension CurlewError {
    static var taskCancelled: CurlewError { CurlewError(.cancelled, "the task was cancelled") }
}

/// The memory that the sockets of a loop are read into, one after the other.
private final class SharedBuffer {
    var buffer = ReceiveBuffer()
}
