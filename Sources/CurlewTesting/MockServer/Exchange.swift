internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// One request and its response.
struct Exchange: Sendable {
    let core: MockServerCore
    let connection: AcceptedConnection
    let port: ServerPort
    let head: HTTPRequestHead
    let version: ProtocolVersion
    let index: Int

    /// Answers the request; returns whether the connection may carry another one.
    func run() async throws -> Bool {
        let gate = FaultGate(
            self.core.faults.claimExchange(onConnection: self.connection.index),
            connection: self.connection,
            port: self.port,
            isHTTP2: self.version == .http2
        )
        let reader = self.makeReader(gate)
        defer { reader.giveUp() }
        try await gate.pass(.atRequestStart)
        let response = await self.response(reading: reader)
        try Task.checkCancellation()
        if gate.isStruck { throw FaultStruck() }
        try await gate.pass(.atResponseStart)
        let writer = ResponseWriter(exchange: self, response: response, gate: gate)
        let isWhole = try await writer.write(after: reader)
        guard isWhole else {
            await self.breakOff()
            return false
        }
        try await gate.pass(.atResponseEnd)
        if self.version == .http2 && writer.closes { self.connection.sendGoAway(code: 0) }
        try await reader.drain()
        return !writer.closes
    }

    /// Ends the exchange so that the client cannot take what it has got for the whole.
    private func breakOff() async {
        try? await self.port.drained()
        if self.version == .http2 {
            self.port.channel.resetStream(code: 2)
        } else {
            self.connection.abort()
        }
    }

    private func response(reading reader: RequestBodyReader) async -> MockResponse {
        do {
            if let queued = self.core.dequeue() {
                if queued.expectation == .continues {
                    while try await reader.next(maySendContinue: true) != nil {}
                }
                return queued
            }
            guard let handler = self.core.handler else {
                while try await reader.next(maySendContinue: true) != nil {}
                return .notFound
            }
            return try await handler(self.request(body: InboundRequestBody(reader: reader)))
        } catch {
            return MockResponse(status: .internalServerError, body: .string("the handler threw: \(error)\n"))
        }
    }

    private func makeReader(_ gate: FaultGate) -> RequestBodyReader {
        let record = RecordedRequest(
            method: self.method,
            target: self.head.uri,
            fields: HTTPFields(self.head.headers),
            version: self.version,
            connectionIndex: self.connection.index,
            exchangeIndex: self.index,
            tls: self.connection.tls
        )
        return RequestBodyReader(
            port: self.port,
            gate: gate,
            log: self.core.log,
            bodyLimit: self.core.configuration.recordedBodyLimit,
            record: record,
            awaitsContinue: self.head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
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

    private var method: HTTPRequest.Method {
        // The parser lets through what is no token only in names that the type refuses.
        HTTPRequest.Method(self.head.method.rawValue) ?? .get
    }
}
