#if Service && TestKit
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@Suite("Bodies as NIO buffers", .noLeaks, .timeLimit(.minutes(1)))
struct BufferTests {
    private static func echo() async throws -> MockServer {
        try await MockServer.start { request in
            MockResponse(
                fields: [.init("X-Length")!: request.fields[.contentLength] ?? "chunked"],
                body: .bytes(try await request.body.collect()))
        }
    }

    @Test("a buffer is sent and received from its reader index on, short or long", arguments: [0, 5, 1 << 20])
    func whole(_ count: Int) async throws {
        let server = try await Self.echo()
        let session = try HTTPSession(chain: .bare)
        var sent = ByteBuffer(bytes: [1, 2, 3])
        sent.moveReaderIndex(forwardBy: 3)
        sent.writeBytes((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let body = CurlewRequest.Body.buffer(sent)
        #expect(body.length == Int64(count) && body.isReplayable)
        let response = try await session.send(CurlewRequest(.post, server.url(), body: body))
        #expect(response.fields[.init("X-Length")!] == "\(count)")
        #expect(try await response.body.buffer(upTo: .mebibytes(2)) == sent)
        await session.shutdown()
        await server.shutdown()
    }

    @Test("buffers are sent and received as they come, empty buffers included")
    func streamed() async throws {
        let server = try await Self.echo()
        let session = try HTTPSession(chain: .bare)
        let parts = ["one ", "", "two ", "three"]
        for length in [nil, Int64(13)] {
            for isReplayable in [false, true] {
                let make: @Sendable () -> AsyncStream<ByteBuffer> = {
                    AsyncStream { continuation in
                        for part in parts { continuation.yield(ByteBuffer(string: part)) }
                        continuation.finish()
                    }
                }
                let body: CurlewRequest.Body =
                    isReplayable ? .stream(length: length, make) : .once(make(), length: length)
                #expect(body.isReplayable == isReplayable)
                let response = try await session.send(CurlewRequest(.post, server.url(), body: body))
                #expect(response.fields[.init("X-Length")!] == length.map { "\($0)" } ?? "chunked")
                var received = ByteBuffer()
                for try await var buffer in response.body.buffers { received.writeBuffer(&buffer) }
                #expect(String(buffer: received) == parts.joined())
            }
        }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a sum of buffers below or above the declared length is an error", arguments: [Int64(4), 6])
    func lying(_ length: Int64) async throws {
        let server = try await Self.echo()
        let session = try HTTPSession(chain: .bare)
        let buffers = AsyncStream { continuation in
            continuation.yield(ByteBuffer(string: "12345"))
            continuation.finish()
        }
        let error = await #expect(throws: CurlewError.self) {
            _ = try await session.send(CurlewRequest(.post, server.url(), body: .once(buffers, length: length)))
        }
        #expect(error?.code == .bodyLengthMismatch)
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a body larger than the caller collects is an error")
    func tooLarge() async throws {
        for framing in [MockResponse.Framing.automatic, .chunked] {
            let server = try await MockServer.start { _ in
                var response = MockResponse(body: .pattern(count: 2000))
                response.framing = framing
                return response
            }
            let session = try HTTPSession(chain: .bare)
            let response = try await session.get(.raw(server.url()))
            let error = await #expect(throws: CurlewError.self) { _ = try await response.body.buffer(upTo: 1999) }
            #expect(error?.code == .responseTooLarge)
            await session.shutdown()
            await server.shutdown()
        }
    }

    @Test("the producer of buffers waits while the server reads nothing")
    func backPressure() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            guard request.method == .post else { return MockResponse() }
            for await _ in gate.stream {}
            return MockResponse(body: .string("\(try await request.body.collect(upTo: 64 << 20).count)"))
        }
        let session = try HTTPSession(chain: .bare)
        let source = CountedBuffers(count: 512, size: 64 << 10)
        let call = Task { try await session.send(CurlewRequest(.post, server.url(), body: .once(source))) }
        // A producer that waits takes nothing while other requests of the session pass, one after another. A producer
        // without backpressure ends instead.
        try await eventually("the producer has paused or ended") {
            let before = source.taken
            for _ in 0..<20 { _ = try await session.get(.raw(server.url())).body.collect(upTo: 100) }
            return before > 3 && source.taken == before
        }
        // The buffers of the kernel, the server and the client hold a few megabytes at most.
        #expect(source.taken < 256)
        gate.continuation.finish()
        #expect(try await call.value.body.collect(upTo: 100) == Array("\(32 << 20)".utf8))
        #expect(source.taken == 512)
        await session.shutdown()
        await server.shutdown()
    }
}

/// A sequence of buffers that counts those that were requested.
private final class CountedBuffers: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let count: Int
    private let buffer: ByteBuffer
    private let counter = Atomic(0)

    init(count: Int, size: Int) {
        self.count = count
        buffer = ByteBuffer(repeating: 7, count: size)
    }

    var taken: Int { counter.load(ordering: .relaxed) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: CountedBuffers

        mutating func next() async -> ByteBuffer? {
            guard source.taken < source.count else { return nil }
            source.counter.add(1, ordering: .relaxed)
            return source.buffer
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}
#endif
