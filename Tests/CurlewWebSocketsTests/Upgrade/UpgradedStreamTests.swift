import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The bytes of an upgraded connection", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct UpgradedStreamTests {
    @Test("bytes are exchanged in both directions over every route", arguments: Way.all)
    func ways(_ way: Way) async throws {
        let stage = try await WayStage(way, handler: EchoUpgrade.serve)
        let result = try await stage.session.upgrade("socket?x=1", to: "echo") { stream in
            #expect(stream.response.status.code == 101)
            #expect((stream.response.security != nil) == way.isSecure)
            var received: [UInt8] = []
            var iterator = stream.makeAsyncIterator()
            for round in 0..<20 {
                let sent = (0..<(round * 517 + 1)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
                try await stream.write(sent)
                received = []
                while received.count < sent.count, let bytes = try await iterator.next() { received += bytes }
                #expect(received == sent)
            }
            return received.count
        }
        #expect(result == 19 * 517 + 1)
        #expect(stage.server.accepted == 1)
        await stage.session.shutdown()
        try await stage.server.waitForConnections { $0.open == 0 }
    }

    @Test("bytes that arrive with the head are not lost", arguments: [1, 7, 4096])
    func eager(_ size: Int) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            let bytes = Array((EchoUpgrade.switching + "hello and goodbye").utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try await connection.write(Array(bytes[start..<min(bytes.count, start + size)]))
                if size < 100 { try await connection.flush() }
            }
        }
        let session = try makeSession(baseURL: server.url())
        let text = try await session.upgrade("", to: "echo") { stream in
            var text = ""
            for try await bytes in stream { text += String(decoding: bytes, as: UTF8.self) }
            return text
        }
        #expect(text == "hello and goodbye")
        await session.shutdown()
    }

    @Test("a writer waits for a slow peer, and the peer waits for a slow reader")
    func backPressure() async throws {
        let total = 24 << 20
        let (counts, counted) = AsyncStream.makeStream(of: Int.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            let chunk = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<24 { try await connection.write(chunk) }
            try await connection.halfClose()
            counted.yield(try await connection.drain())
        }
        let session = try makeSession(baseURL: server.url())
        try await session.upgrade("", to: "echo") { stream in
            async let written: Void = {
                for _ in 0..<24 { try await stream.write([UInt8](repeating: 1, count: 1 << 20)) }
                try await stream.finish()
            }()
            var count = 0
            for try await bytes in stream {
                count += bytes.count
                #expect(bytes.count <= 1 << 20)
            }
            #expect(count == total)
            try await written
        }
        var received = counts.makeAsyncIterator()
        #expect(await received.next() == total)
        await session.shutdown()
    }

    @Test("a cancellation ends a write to a peer that never reads")
    func stuckWrite() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            for await _ in gate {}
        }
        let session = try makeSession(baseURL: server.url())
        let (started, start) = AsyncStream.makeStream(of: HTTPSession.UpgradedStream.self)
        let task = Task {
            try await session.upgrade("", to: "echo") { stream in
                start.yield(stream)
                try await stream.write([UInt8](repeating: 1, count: 64 << 20))
            }
        }
        for await stream in started {
            try await eventually("the write waits") { await stream.connection.isWriteBlocked }
            break
        }
        task.cancel()
        let error = await curlewError { try await task.value }
        #expect(error?.code == .cancelled)
        open.finish()
        await session.shutdown()
    }

    @Test("no write is possible after a write that was cancelled in its middle", arguments: [Way.plain, .tls])
    func brokenOff(_ way: Way) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let count = Guarded(0)
        let stage = try await WayStage(way) { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            for await _ in gate {}
            var wrong = 0
            while let bytes = try? await connection.read() { wrong += bytes.count { $0 != 1 } }
            count.withLock { $0 = wrong }
        }
        try await stage.session.upgrade("", to: "echo") { stream in
            let task = Task { try await stream.write([UInt8](repeating: 1, count: 64 << 20)) }
            try await eventually("the write waits") { await stream.connection.isWriteBlocked }
            let waiting = Task { try await stream.write([2]) }
            task.cancel()
            let cancelled = await curlewError { try await task.value }
            #expect(cancelled?.code == .cancelled)
            let behind = await curlewError { try await waiting.value }
            #expect(behind?.code == .cancelled)
            let later = await curlewError { try await stream.write([2]) }
            #expect(later?.code == .cancelled)
            let end = await curlewError { try await stream.finish() }
            #expect(end?.code == (way.isSecure ? .unsupported : .cancelled))
        }
        open.finish()
        await stage.session.shutdown()
        try await stage.server.waitForConnections { $0.open == 0 }
        #expect(count.withLock { $0 } == 0)
    }

    @Test("every waiting write and end of the sending side ends after a write was cancelled")
    func waitingEnds() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stage = try await WayStage(.plain) { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            for await _ in gate {}
        }
        try await stage.session.upgrade("", to: "echo") { stream in
            let task = Task { try await stream.write([UInt8](repeating: 1, count: 64 << 20)) }
            try await eventually("the write waits") { await stream.connection.isWriteBlocked }
            let waiting = (0..<10).map { number in
                Task { if number.isMultiple(of: 2) { try await stream.finish() } else { try await stream.write([2]) } }
            }
            try await eventually("all of them wait") { await stream.connection.waitingWriters == waiting.count }
            task.cancel()
            for task in waiting { #expect(await curlewError { try await task.value }?.code == .cancelled) }
        }
        open.finish()
        await stage.session.shutdown()
    }

    @Test("the sending side cannot be ended after the connection has failed")
    func finishAfterFailure() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            await connection.reset()
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                do {
                    for try await _ in stream {}
                } catch {}
                try await stream.finish()
            }
        }
        #expect(error?.code == .connectionLost)
        await session.shutdown()
    }

    @Test("a reset of the connection ends reading and writing with an error")
    func reset() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(EchoUpgrade.switching)
            _ = try await connection.readExactly(1)
            await connection.reset()
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                try await stream.write([1])
                for try await _ in stream {}
            }
        }
        #expect(error?.code == .connectionLost)
        await session.shutdown()
    }
}
