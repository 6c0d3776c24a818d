#if Service && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Testing

// The runtime of swift-openapi-generator, as far as a transport sees it. The package cannot be fetched for these tests, and names
// its types like these.

private protocol ClientTransport: Sendable {
    func send(_ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String) async throws
        -> (HTTPResponse, HTTPBody?)
}

private struct HTTPBody: AsyncSequence, Sendable {
    typealias ByteChunk = ArraySlice<UInt8>
    typealias Element = ByteChunk

    enum Length: Sendable, Equatable {
        case known(Int64)
        case unknown
    }

    enum IterationBehavior: Sendable {
        case single
        case multiple
    }

    let length: Length
    let iterationBehavior: IterationBehavior
    private let chunks: AsyncThrowingStream<ByteChunk, any Error>

    init<Bytes: AsyncSequence & Sendable>(_ bytes: Bytes, length: Length, iterationBehavior: IterationBehavior)
    where Bytes.Element == ByteChunk {
        self.length = length
        self.iterationBehavior = iterationBehavior
        let source = Source(bytes)
        chunks = AsyncThrowingStream { try await source.next() }
    }

    func makeAsyncIterator() -> AsyncThrowingStream<ByteChunk, any Error>.AsyncIterator { chunks.makeAsyncIterator() }

    private actor Source<Bytes: AsyncSequence & Sendable> where Bytes.Element == ByteChunk {
        private var bytes: Bytes.AsyncIterator

        init(_ bytes: Bytes) { self.bytes = bytes.makeAsyncIterator() }

        func next() async throws -> ByteChunk? {
            var bytes = bytes
            defer { self.bytes = bytes }
            return try await bytes.next(isolation: self)
        }
    }
}

/// A transport for clients that swift-openapi-generator makes.
private struct CurlewTransport: ClientTransport {
    let session: HTTPSession

    func send(_ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String) async throws
        -> (HTTPResponse, HTTPBody?)
    {
        let base = baseURL.absoluteString
        let prefix = base.hasSuffix("/") ? String(base.dropLast()) : base
        var call = CurlewRequest(
            request.method, try CurlewURI(prefix + (request.path ?? "/")), fields: request.headerFields,
            options: RequestOptions(tag: operationID))
        if let body {
            let chunks = body.map { Array($0) }
            let length: Int64? = if case .known(let length) = body.length { length } else { nil }
            let isReplayable = body.iterationBehavior == .multiple
            call.body = isReplayable ? .stream(length: length) { chunks } : .once(length: length, chunks)
        }
        let response = try await session.send(call)
        let length = response.body.length.map { HTTPBody.Length.known($0) } ?? .unknown
        return (
            response.head,
            HTTPBody(response.body.map { $0[...] }, length: length, iterationBehavior: .single)
        )
    }
}

@Suite("The recipe of an OpenAPI transport", .noLeaks, .timeLimit(.minutes(1)))
struct OpenAPITransportTests {
    @Test("a call is sent as described, and its answer is returned", arguments: [Int64(5), nil])
    func call(_ length: Int64?) async throws {
        let server = try await MockServer.start { request in
            var response = MockResponse(
                status: .created, fields: [.contentType: "text/plain"], body: .stream(request.body))
            if request.fields.contains(.contentLength) { response.body = .bytes(try await request.body.collect()) }
            return response
        }
        let session = try HTTPSession()
        let transport: any ClientTransport = CurlewTransport(session: session)
        let chunks = AsyncStream { continuation in
            for part in ["he", "llo"] { continuation.yield(Array(part.utf8)[...]) }
            continuation.finish()
        }
        let (head, body) = try await transport.send(
            HTTPRequest(
                method: .post, scheme: nil, authority: nil, path: "/birds/7?x=1",
                headerFields: [.accept: "text/plain"]),
            body: HTTPBody(chunks, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single),
            baseURL: try #require(URL(string: server.url("/v1/"))), operationID: "addBird")
        #expect(head.status == .created && head.headerFields[.contentType] == "text/plain")
        var received: [UInt8] = []
        for try await chunk in try #require(body) { received += chunk }
        #expect(received == Array("hello".utf8))
        let request = try #require(await server.takeRequest())
        #expect(request.target == "/v1/birds/7?x=1" && request.method == .post)
        #expect(request.fields[.contentLength] == length.map { "\($0)" } && request.fields[.accept] == "text/plain")
        await session.shutdown()
        await server.shutdown()
    }
}
#endif
