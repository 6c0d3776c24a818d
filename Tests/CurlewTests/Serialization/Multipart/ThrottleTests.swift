import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Throttled bodies", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct ThrottleTests {
    private func throttle(_ size: Int, _ clock: TestClock) -> MultipartFormData.Throttle {
        MultipartFormData.Throttle(packetSize: ByteSize(size), delay: .seconds(3600), clock: clock)
    }

    @Test("packets have at most the configured size, and all but the first wait for the clock")
    func packets() async throws {
        let clock = TestClock()
        let body = try CurlewRequest.Body.bytes(Array(0..<10)).throttled(throttle(4, clock))
        #expect(body.length == 10 && body.isReplayable)
        // The second transfer is throttled like the first.
        for _ in 0..<2 {
            let reading = Task {
                var packets: [[UInt8]] = []
                for try await packet in try await body.stream() { packets.append(packet) }
                return packets
            }
            for _ in 0..<2 { #expect(try await clock.advanceToNextSleeper() == .seconds(3600)) }
            #expect(try await reading.value == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        }
        #expect(clock.now.offset == .seconds(4 * 3600))
    }

    @Test("a form's throttle applies on the network, packet by packet, with its Content-Length, each time it is sent")
    func onTheWire() async throws {
        let (sizes, announce) = AsyncStream.makeStream(of: Int.self)
        let server = try await MockServer.start { request in
            for try await chunk in request.body { announce.yield(chunk.count) }
            return MockResponse()
        }
        let api = try makeSession(baseURL: server.url())
        let clock = TestClock()
        var form = try MultipartFormData.test()
        form.append(Array(repeating: 7, count: 1000), name: "a")
        form.throttle = throttle(400, clock)
        let length = try Int(#require(form.length))
        let plain = try await form.plainBytes()
        let paced = form
        var arrivals = sizes.makeAsyncIterator()
        for _ in 0..<2 {
            async let response = api.post("x", .multipart(paced))
            var left = length
            while left > 0 {
                // The next packet is not sent before the clock advances, and this one has arrived completely by then.
                var packet = 0
                while packet < min(400, left) { packet += try #require(await arrivals.next()) }
                #expect(packet == min(400, left))
                left -= packet
                if left > 0 { try await clock.advanceToNextSleeper() }
            }
            #expect(try await response.status == .ok)
            let request = try #require(await server.takeRequest())
            #expect(request.fields[.contentLength] == "\(length)")
            #expect(request.body == plain)
        }
    }

    @Test("a cancelled transfer does not wait for the clock")
    func cancelled() async throws {
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
        let api = try makeSession(baseURL: server.url())
        let clock = TestClock()
        let body = try CurlewRequest.Body.bytes(Array(0..<10)).throttled(throttle(1, clock))
        let sending = Task { try await api.post("x", .body(body)) }
        try await clock.waitForSleepers()
        sending.cancel()
        let error = await curlewError { _ = try await sending.value }
        #expect(error?.code == .cancelled)
    }

    @Test("a pause of any length lasts until the task is cancelled")
    func endlessPause() async throws {
        let throttle = MultipartFormData.Throttle(packetSize: 1, delay: .seconds(Int64.max))
        let body = try CurlewRequest.Body.bytes([1, 2]).throttled(throttle)
        let (sent, report) = AsyncStream.makeStream(of: [UInt8].self)
        let reading = Task { for try await packet in try await body.stream() { report.yield(packet) } }
        var packets = sent.makeAsyncIterator()
        #expect(await packets.next() == [1])
        reading.cancel()
        #expect(await curlewError { try await reading.value }?.code == .cancelled)
    }

    @Test("files, streams and empty bodies can have a throttle too")
    func kinds() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("ten", Array(0..<10))
        let quick = MultipartFormData.Throttle(packetSize: 0, delay: .zero)
        let file = try CurlewRequest.Body.file(path).throttled(quick)
        #expect(file.length == 10 && file.isReplayable)
        #expect(try await file.bytes() == Array(0..<10))
        #expect(try await CurlewRequest.Body.file(path, offset: 4).throttled(quick).bytes() == Array(4..<10))
        #expect(try await CurlewRequest.Body.file(path, offset: 4, length: 3).throttled(quick).bytes() == Array(4..<7))
        let once = try CurlewRequest.Body.once(length: 2, chunks([[1], [2]])).throttled(quick)
        #expect(once.length == 2 && !once.isReplayable)
        #expect(try await once.bytes() == [1, 2])
        #expect(await curlewError { _ = try await once.bytes() }?.code == .bodyNotReplayable)
        #expect(try CurlewRequest.Body.none.throttled(quick).isNone)
        #expect(await curlewError { _ = try CurlewRequest.Body.file("/nowhere").throttled(quick) }?.code == .bodyFailed)
        try folder.write("ten", Array(0..<11))
        #expect(await curlewError { _ = try await file.bytes() }?.code == .bodyLengthMismatch)
    }
}

extension MultipartFormData {
    /// The complete body without its throttle.
    fileprivate func plainBytes() async throws -> [UInt8] {
        var form = self
        form.throttle = nil
        return try await form.body.bytes()
    }
}
