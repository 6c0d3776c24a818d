extension MultipartFormData {
    /// A rate limit for the body of a request: packets of a given size, with a pause between them.
    ///
    /// It limits the bytes that the session gets to send; the socket, its buffers and TLS have their own timing. It
    /// applies each time that the body is sent, also after a redirect or a retry.
    ///
    /// ```swift
    /// form.throttle = MultipartFormData.Throttle(packetSize: .kibibytes(16), delay: .milliseconds(200))
    /// ```
    public struct Throttle: Sendable {
        /// The largest number of bytes in a packet; at least one. 16 KiB by default.
        public var packetSize: ByteSize
        /// The pause before each packet but the first. 200 ms by default.
        public var delay: Duration
        /// The clock that measures the pauses.
        public var clock: any Clock<Duration>

        public init(
            packetSize: ByteSize = .kibibytes(16), delay: Duration = .milliseconds(200),
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.packetSize = packetSize
            self.delay = delay
            self.clock = clock
        }
    }
}

extension CurlewRequest.Body {
    /// A copy of the body with a rate limit. It has the same length, and can be sent again if the original can.
    ///
    /// The length of a file is recorded now, and the file must not change: otherwise the error is
    /// ``ErrorCode/bodyLengthMismatch``.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` or ``ErrorCode/bodyLengthMismatch`` for a file that is
    ///   missing or too short.
    public func throttled(_ throttle: MultipartFormData.Throttle) throws -> CurlewRequest.Body {
        switch source {
        case .none: return self
        case .file: return try watchingFile().throttled(throttle)
        case .watched, .bytes, .factory, .once, .relayed: return paced(by: throttle, length: length)
        }
    }

    /// - Parameter length: The length of the body, if it is known.
    func paced(by throttle: MultipartFormData.Throttle, length: Int64?) -> CurlewRequest.Body {
        let packets = Packets(body: self, throttle: throttle)
        return isReplayable ? .stream(length: length) { packets } : .once(length: length, packets)
    }
}

/// The bytes of a body in packets, with pauses.
private struct Packets: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: CurlewRequest.Body
    let throttle: MultipartFormData.Throttle

    func makeAsyncIterator() -> Iterator { Iterator(body: body, throttle: throttle) }

    struct Iterator: AsyncIteratorProtocol {
        let body: CurlewRequest.Body
        let throttle: MultipartFormData.Throttle
        var base: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        var rest: ArraySlice<UInt8> = []
        var isFirst = true
        var isAtEnd = false

        init(body: CurlewRequest.Body, throttle: MultipartFormData.Throttle) {
            self.body = body
            self.throttle = throttle
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            guard !isAtEnd else { return nil }
            isAtEnd = true
            if base == nil { base = try await body.stream().makeAsyncIterator() }
            while rest.isEmpty {
                guard let chunk = try await base?.next(isolation: actor) else { return nil }
                rest = chunk[...]
            }
            if !isFirst { try await pause() }
            isFirst = false
            let packet = rest.prefix(Swift.max(1, throttle.packetSize.bytes))
            rest = rest.dropFirst(packet.count)
            isAtEnd = false
            return Array(packet)
        }

        private func pause() async throws {
            guard throttle.delay > .zero else { return }
            do {
                try await Timekeeper(throttle.clock).sleep(for: throttle.delay)
            } catch let error as CancellationError {
                throw CurlewError(error)
            }
        }
    }
}
