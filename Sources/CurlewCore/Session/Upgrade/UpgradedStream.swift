extension HTTPSession {
    /// A stream of bytes in both directions, over a connection that was switched to another protocol.
    ///
    /// The stream is the sequence of the bytes that the peer sends, for one reader. At most
    /// ``RequestOptions/bodyBufferSize`` of them is buffered for the reader; then the socket is not read. The sequence
    /// ends when the peer ends its side, and throws ``CurlewError`` if the connection fails.
    ///
    /// ```swift
    /// try await docker.upgrade(
    ///     "containers/\(id)/attach?stream=1&stdin=1&stdout=1", to: "tcp", method: .post
    /// ) { stream in
    ///     try await stream.write(Array("date\n".utf8))
    ///     for try await bytes in stream { print(String(decoding: bytes, as: UTF8.self), terminator: "") }
    /// }
    /// ```
    public struct UpgradedStream: AsyncSequence, Sendable {
        public typealias Element = [UInt8]

        /// The response that switched the protocol, with status 101.
        public let response: CurlewResponse
        let connection: UpgradedStreamConnection

        /// Sends bytes. The method returns when the system has accepted all of them, and waits while the peer does not
        /// read. Concurrent writers take turns, each with all of its bytes.
        ///
        /// A task that is cancelled while it waits for its turn sends nothing. A task that is cancelled while it waits
        /// for the peer stops in the middle of its bytes. Each later call of this method and of ``finish()`` then
        /// throws.
        /// - Throws: ``CurlewError`` with ``ErrorCode/connectionLost`` or ``ErrorCode/cancelled``.
        public func write(_ bytes: [UInt8]) async throws { try await connection.write(bytes) }

        /// Ends the sending side. The peer may still send.
        /// - Throws: ``CurlewError`` with ``ErrorCode/unsupported`` over TLS, where libcurl cannot end one side.
        public func finish() async throws { try await connection.finish() }

        /// True if ``finish()`` can end the sending side.
        package var canFinish: Bool { connection.canEndOutput }

        /// Closes the connection.
        package func close() async { await connection.close() }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: connection) }

        /// Reads the bytes.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let connection: UpgradedStreamConnection

            /// The next bytes; nil after the peer has ended its side.
            public mutating func next() async throws -> [UInt8]? { try await connection.next() }
        }
    }
}

/// The connection of an ``HTTPSession/UpgradedStream``, on its loop.
actor UpgradedStreamConnection: LoopActor, UpgradedConnectionUser {
    nonisolated let loop: CurlewEventLoop
    private let connection: any UpgradedConnection
    nonisolated var canEndOutput: Bool { connection.canEndOutput }
    private let readers: LoopWaiters
    /// The writers that wait for their turn, and the writer that waits for the peer.
    private let writers: LoopWaiters
    private let room: LoopWaiters
    private var incoming: [UInt8] = []
    /// The end of the peer's side.
    private var end: Result<Void, CurlewError>?
    /// The error that has ended the connection.
    private var failure: CurlewError?
    private var isWriting = false
    /// True if the present writer waits for the peer.
    private var wantsRoom = false
    /// True if the socket is not read because its buffer is full.
    var isReadingPaused: Bool { incoming.count >= connection.bufferSize }
    /// True if a write waits for the peer.
    var isWriteBlocked: Bool { wantsRoom }
    /// The number of tasks that wait for the turn of a writer.
    var waitingWriters: Int { writers.count }
    private var isOutputEnded = false
    /// The error of later writes, after a write has failed or has stopped in the middle of its bytes.
    private var brokenOff: CurlewError?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ connection: any UpgradedConnection) {
        self.connection = connection
        loop = connection.loop
        readers = LoopWaiters(on: loop)
        writers = LoopWaiters(on: loop)
        room = LoopWaiters(on: loop)
    }

    func start() throws {
        try connection.attach(self)
        readOn()
    }

    /// Closes the connection.
    func close() {
        connection.close()
        end(CurlewError(.connectionLost, "the connection was closed"))
    }

    // MARK: Reading

    func next() async throws -> [UInt8]? {
        while true {
            if let bytes = takeIncoming() {
                readOn()
                return bytes
            }
            switch end {
            case .success: return nil
            case .failure(let error): throw error
            case nil: break
            }
            guard readers.isEmpty else { throw CurlewError(.responseAlreadyTaken, "two readers wait for one stream") }
            try await readers.wait(while: incoming.isEmpty && end == nil)
        }
    }

    private func takeIncoming() -> [UInt8]? {
        guard !incoming.isEmpty else { return nil }
        var taken: [UInt8] = []
        swap(&taken, &incoming)
        return taken
    }

    private func readOn() {
        reading: while end == nil, incoming.count < connection.bufferSize {
            let scratch = loop.scratch
            let space = UnsafeMutableRawBufferPointer(
                rebasing: scratch[..<min(scratch.count, connection.bufferSize - incoming.count)])
            switch connection.read(into: space) {
            case .bytes(let count): incoming.append(contentsOf: space[..<count])
            case .nothing: break reading
            case .end: end = .success(())
            case .failed(let error):
                connection.fail(error)
                end(error)
            }
        }
        if !incoming.isEmpty || end != nil { readers.resumeAll() }
        updateWatch()
    }

    private func updateWatch() {
        connection.watch(reading: end == nil && incoming.count < connection.bufferSize, writing: wantsRoom)
    }

    // MARK: Writing

    func write(_ bytes: [UInt8]) async throws {
        while isWriting { try await writers.wait(while: isWriting) }
        isWriting = true
        defer {
            isWriting = false
            writers.resumeFirst()
        }
        var written = 0
        while written < bytes.count {
            if let failure = failure ?? brokenOff { throw failure }
            guard !isOutputEnded else { throw CurlewError(.invalidRequest, "the own side of the stream has ended") }
            switch bytes.withUnsafeBytes({ connection.write(UnsafeRawBufferPointer(rebasing: $0[written...])) }) {
            case .bytes(let count): written += count
            case .nothing:
                wantsRoom = true
                updateWatch()
                do {
                    while wantsRoom { try await room.wait(while: wantsRoom && failure == nil) }
                } catch {
                    breakOff()
                    throw error
                }
            case .failed(let error):
                // The bytes that the peer has sent before can still be read.
                brokenOff = brokenOff ?? error
                throw error
            }
        }
    }

    /// Refuses later writes after a cancelled write. TLS may hold bytes of it that must be repeated first.
    private func breakOff() {
        wantsRoom = false
        updateWatch()
        guard failure == nil else { return }
        brokenOff = CurlewError(.cancelled, "a cancelled write has stopped in the middle of its bytes")
    }

    func finish() async throws {
        guard connection.canEndOutput else {
            throw CurlewError(.unsupported, "libcurl cannot end one side of a TLS connection")
        }
        while isWriting { try await writers.wait(while: isWriting) }
        // The next writer waits for this turn, even if it ends with an error.
        defer { writers.resumeFirst() }
        if let failure = failure ?? brokenOff { throw failure }
        isOutputEnded = true
        connection.endOutput()
    }

    // MARK: The connection

    private func end(_ error: CurlewError) {
        failure = failure ?? error
        wantsRoom = false
        if end == nil { end = .failure(error) }
        readers.resumeAll(throwing: error)
        room.resumeAll(throwing: error)
        writers.resumeAll(throwing: error)
    }

    private func isReady() {
        if wantsRoom {
            wantsRoom = false
            room.resumeAll()
        }
        readOn()
    }

    nonisolated func connectionIsReady() { enter(()) { connection, _ in connection.isReady() } }

    nonisolated func connectionEnds(_ error: CurlewError) { enter(error) { $0.end($1) } }

    /// Ignores the end of the session, for which a stream has no message. The stream continues until its end or the
    /// deadline of the shutdown.
    nonisolated func sessionEnds() {}
}
