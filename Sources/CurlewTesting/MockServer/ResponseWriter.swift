#if TestKit
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// A writer for one response: delays, interim responses, head, body at its pace, trailers.
struct ResponseWriter: Sendable {
    let exchange: Exchange
    let response: MockResponse
    let gate: FaultGate

    private var port: ServerPort { self.exchange.port }
    private var isHTTP2: Bool { self.exchange.version == .http2 }

    /// True if the connection ends with this response.
    var closes: Bool {
        if self.response.closesConnection || self.response.framing == .untilClose { return true }
        return !self.isHTTP2 && (!self.exchange.head.isKeepAlive || self.framing == .close)
    }

    private var hasBody: Bool {
        let code = self.response.status.code
        return self.exchange.head.method != .HEAD && code != 204 && code != 304 && code >= 200
    }

    /// Writes the response; returns true if the client received all of it.
    func write(after reader: RequestBodyReader) async throws -> Bool {
        if let delay = self.response.headDelay { try await self.pause(delay) }
        for interim in self.response.interim {
            try await self.port.write(.head(HTTPResponseHead(interim.status, fields: interim.fields)))
        }
        reader.stopAwaitingContinue()
        let head = self.head
        // Small bodies leave in one segment with their head; the client of a stream may need the head to continue.
        let flushesHead = self.hasBody && self.isStream
        try await self.port.write(.head(head), flush: flushesHead)
        guard self.hasBody else { return try await self.end() }
        let meter = Watched(0)
        do {
            try await self.writeBody { try await self.send($0, meter: meter) }
            // Faults after exactly this many bytes happen now; faults after more bytes never happen.
            try await self.gate.passResponseBody(0, after: meter.update { $0 }) { _ in }
        } catch {
            if self.gate.isStruck { throw FaultStruck() }
            return false
        }
        if case .length(let stated) = self.framing, meter.update({ $0 }) != stated { return false }
        return try await self.end()
    }

    /// Sends a piece of the body, in parts that end where a fault is committed.
    private func send(_ buffer: ByteBuffer, meter: Watched<Int>) async throws {
        var rest = buffer
        try await self.gate.passResponseBody(rest.readableBytes, after: meter.update { $0 }) { length in
            guard let piece = rest.readSlice(length: length) else { return }
            try await self.port.write(.body(.byteBuffer(piece)), size: length)
            meter.update { $0 += length }
        }
    }

    private func end() async throws -> Bool {
        let trailers = self.response.trailers
        try await self.port.write(.end(trailers.isEmpty ? nil : trailers.headers))
        return true
    }

    /// True if the handler writes the body while it is sent.
    var isStream: Bool {
        if case .stream = self.response.body.source { return true }
        return false
    }

    private enum Framing: Equatable { case none, length(Int), chunked, close }

    private var framing: Framing {
        if let stated = self.response.fields[.contentLength].flatMap({ Int($0) }) { return .length(stated) }
        let code = self.response.status.code
        if code == 204 || code == 304 || code < 200 { return .none }
        let length = self.response.body.length
        if self.isHTTP2 {
            return self.response.framing == .automatic ? length.map { .length($0) } ?? .none : .none
        }
        if self.response.framing == .untilClose { return .close }
        if self.response.fields[.transferEncoding] != nil { return .chunked }
        let wantsChunks = self.response.framing == .chunked || !self.response.trailers.isEmpty
        if let length, !wantsChunks { return .length(length) }
        return self.exchange.version == .http10 ? .close : .chunked
    }

    private var head: HTTPResponseHead {
        var fields = self.response.fields
        if fields[.contentLength] == nil && fields[.transferEncoding] == nil {
            switch self.framing {
            case .length(let length): fields[.contentLength] = String(length)
            case .chunked: fields[.transferEncoding] = "chunked"
            case .none, .close: break
            }
        }
        if !self.isHTTP2 && self.closes && fields[.connection] == nil { fields[.connection] = "close" }
        return HTTPResponseHead(self.response.status, fields: fields)
    }

    private func writeBody(_ send: @escaping @Sendable (ByteBuffer) async throws -> Void) async throws {
        let paced: @Sendable (ByteBuffer) async throws -> Void = { buffer in
            guard let throttle = self.response.throttle else { return try await send(buffer) }
            var rest = buffer
            while let piece = rest.readSlice(length: min(throttle.bytes, rest.readableBytes)), piece.readableBytes > 0 {
                try await send(piece)
                try await self.pause(throttle.pause)
            }
        }
        switch self.response.body.source {
        case .none: break
        case .bytes(let bytes): if !bytes.isEmpty { try await paced(ByteBuffer(bytes: bytes)) }
        case .pattern(let count): try await self.writePattern(count: count, paced)
        case .stream(_, let write): try await write(ResponseBodyWriter(send: paced))
        }
    }

    private static let patternBlock = ByteBuffer(bytes: BytePattern.bytes(count: BytePattern.period * 1024))

    private func writePattern(count: Int, _ send: @Sendable (ByteBuffer) async throws -> Void) async throws {
        let block = Self.patternBlock
        var left = count
        while left > 0 {
            let length = min(left, block.readableBytes)
            guard let piece = block.getSlice(at: 0, length: length) else { return }
            try await send(piece)
            left -= length
        }
    }

    private func pause(_ duration: Duration) async throws {
        try await self.exchange.core.configuration.clock.sleep(for: duration)
    }
}
#endif
