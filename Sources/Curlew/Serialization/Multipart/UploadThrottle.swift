extension MultipartFormData {
    /// A pace for the body of a request: packets of a size, with a pause between them.
    ///
    /// It slows down what the session is given to send; the socket, its buffers and TLS have a pace of their own. Each sending
    /// keeps to it, the first as well as one after a redirect or a retry.
    ///
    /// ```swift
    /// form.throttle = MultipartFormData.Throttle(packetSize: .kibibytes(16), delay: .milliseconds(200))
    /// ```
    public struct Throttle: Sendable {
        /// The most bytes that go out at once; at least one. 16 KiB by default.
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
    /// The same body at a pace. It has the same length, and can be sent again if this one can.
    ///
    /// Of a file, the length is taken now, and the file must stay as it is: ``ErrorCode/bodyLengthMismatch`` otherwise.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` or ``ErrorCode/bodyLengthMismatch`` for a file that is not there
    ///   or too short.
    public func throttled(_ throttle: MultipartFormData.Throttle) throws -> CurlewRequest.Body {
        switch source {
        case .none: return self
        case .file: return try watchingFile().throttled(throttle)
        case .watched, .bytes, .factory, .once, .relayed: return paced(by: throttle, length: length)
        }
    }

    /// - Parameter length: The bytes that there are, if that is known.
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
