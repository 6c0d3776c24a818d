#if TestKit
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// A request and its response.
struct Exchange: Sendable {
    let core: MockServerCore
    let connection: AcceptedConnection
    let port: ServerPort
    let head: HTTPRequestHead
    let version: ProtocolVersion
    let index: Int

    /// Answers the request; returns true if the connection may carry another one.
    func run() async throws -> Bool {
        let recorder = self.makeRecorder()
        let gate = self.makeGate(willEnd: recorder.record)
        defer {
            recorder.record()
            gate.finish()
        }
        try await gate.pass(.atRequestStart)
        let reader = RequestBodyReader(
            port: self.port,
            gate: gate,
            recorder: recorder,
            awaitsContinue: self.head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        )
        async let received: Void = reader.receive()
        // A request without a body is complete with its head, and recorded before its client can have an answer.
        if self.isWithoutBody { try await reader.ended() }
        let response = await self.response(reading: reader, objection: gate.objection)
        try Task.checkCancellation()
        // A fault in the request's body, such as a stall, may last; the exchange ends after it.
        if gate.isStruck { try await received }
        try await gate.pass(.atResponseStart)
        let writer = ResponseWriter(exchange: self, response: response, gate: gate)
        // A short body is received before the answer is sent, because a client with an answer may stop sending.
        if self.isShort, !writer.isStream, response.expectation == .continues { try await reader.ended() }
        // GOAWAY precedes the response, so that a client that has read the response knows of it.
        if self.version == .http2 && writer.closes { self.connection.sendGoAway(code: 0) }
        guard try await writer.write(after: reader) else {
            await self.breakOff()
            return false
        }
        try await gate.pass(.atResponseEnd)
        reader.discard()
        try await received
        return !writer.closes
    }

    /// Ends the exchange in such a way that the client recognizes the response as incomplete.
    private func breakOff() async {
        try? await self.port.drained()
        if self.version == .http2 {
            self.port.channel.resetStream(code: 2)
        } else {
            self.connection.abort()
        }
    }

    private func response(reading reader: RequestBodyReader, objection: String?) async -> MockResponse {
        do {
            if let objection { throw TestKitError(objection) }
            if let queued = self.core.dequeue() {
                if queued.expectation == .continues { try await reader.readToEnd() }
                return queued
            }
            guard let handler = self.core.handler else {
                try await reader.readToEnd()
                return .notFound
            }
            return try await handler(self.request(body: InboundRequestBody(reader: reader)))
        } catch {
            return MockResponse(status: .internalServerError, body: .string("the server failed: \(error)\n"))
        }
    }

    private func makeGate(willEnd: @escaping @Sendable () -> Void) -> FaultGate {
        let resetStream: @Sendable (UInt32) -> Void = { [port] code in port.channel.resetStream(code: code) }
        let exchange = FaultGate.Exchange(
            connection: self.connection,
            index: self.index,
            flush: { [port] in
                port.channel.flush()
                try? await port.drained()
            },
            untilClientEnds: { [connection] in await connection.closed() },
            willEnd: willEnd,
            resetStream: self.version == .http2 ? resetStream : nil
        )
        return FaultGate(exchange, script: self.core.faults)
    }

    private func makeRecorder() -> RequestRecorder {
        let record = RecordedRequest(
            method: self.method,
            target: self.head.uri,
            fields: HTTPFields(self.head.headers),
            version: self.version,
            connectionIndex: self.connection.index,
            exchangeIndex: self.index,
            tls: self.connection.tls
        )
        return RequestRecorder(
            record,
            log: self.core.log,
            chunks: self.connection.chunks,
            bodyLimit: self.core.configuration.recordedBodyLimit
        )
    }

    private func request(body: InboundRequestBody) -> InboundRequest {
        InboundRequest(
            method: self.method,
            target: self.head.uri,
            fields: HTTPFields(self.head.headers),
            version: self.version,
            connectionIndex: self.connection.index,
            exchangeIndex: self.index,
            tls: self.connection.tls,
            body: body
        )
    }

    /// True if no body follows the head. An HTTP/2 head may not state that, so methods that rarely have a body count as
    /// having none.
    private var isWithoutBody: Bool {
        if let length = self.head.headers.first(name: "content-length") { return length == "0" }
        if self.version == .http2 { return [.GET, .HEAD, .DELETE, .OPTIONS].contains(self.head.method) }
        return !self.head.headers.contains(name: "transfer-encoding")
    }

    /// True if the body has at most 4 KiB and its client sends it without waiting for 100.
    private var isShort: Bool {
        guard let length = self.head.headers.first(name: "content-length").flatMap({ Int($0) }) else { return false }
        return length <= 4096 && !self.head.headers.contains(name: "expect")
    }

    private var method: HTTPRequest.Method {
        // The parser accepts an invalid token only in method names that the type rejects.
        HTTPRequest.Method(self.head.method.rawValue) ?? .get
    }
}
#endif
