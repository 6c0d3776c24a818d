import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("The channel of a response body")
struct BodyChannelTests {
    /// All chunks that wait in the channel.
    private func takeAll(_ channel: BodyChannel) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        while case .chunk(let chunk, _) = channel.take() { chunks.append(chunk) }
        return chunks
    }

    @Test("single bytes in the queue occupy at most twice their number")
    func singleBytes() {
        let channel = BodyChannel(capacity: 1 << 20)
        let count = 300_000
        for number in 0..<count {
            var chunk: [UInt8] = []
            chunk.reserveCapacity(80 << 10)
            chunk.append(UInt8(truncatingIfNeeded: number))
            #expect(channel.append(chunk) == false)
        }
        let chunks = takeAll(channel)
        #expect(chunks.reduce(0) { $0 + $1.capacity } <= 2 * count + 64 * chunks.count)
        #expect(chunks.count <= count / (8 << 10))
        #expect(Array(chunks.joined()) == (0..<count).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test("a chunk with spare capacity keeps only its bytes while it waits")
    func roomy() {
        let channel = BodyChannel(capacity: 1 << 20)
        for _ in 0..<8 {
            var chunk: [UInt8] = []
            chunk.reserveCapacity(272 << 10)
            chunk.append(contentsOf: repeatElement(7, count: 20 << 10))
            _ = channel.append(chunk)
        }
        let chunks = takeAll(channel)
        #expect(chunks.map(\.count) == Array(repeating: 20 << 10, count: 8))
        #expect(chunks.allSatisfy { $0.capacity <= 2 * $0.count + 64 })
    }

    @Test("a full channel accepts more bytes once half of it was read")
    func backPressure() {
        let channel = BodyChannel(capacity: 8)
        #expect(channel.admits(100, pending: 0))
        _ = channel.append([1, 2, 3, 4])
        #expect(channel.admits(4, pending: 0))
        #expect(!channel.admits(5, pending: 0))
        _ = channel.append(Array(repeating: 5, count: 20 << 10))
        guard case .chunk(_, let first) = channel.take(), case .chunk(_, let second) = channel.take() else {
            Issue.record("nothing to read")
            return
        }
        #expect([first, second] == [false, true])
    }

    @Test("many chunks are delivered in order, however reads are interleaved")
    func order() {
        let channel = BodyChannel(capacity: .max)
        var taken: [[UInt8]] = []
        let made = (0..<500).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 16 << 10) }
        for (index, chunk) in made.enumerated() {
            _ = channel.append(chunk)
            if index % 3 == 0, case .chunk(let chunk, _) = channel.take() { taken.append(chunk) }
        }
        #expect(taken + takeAll(channel) == made)
    }

    @Test("a waiting reader gets the next chunk at once, and a second reader gets an error")
    func waiting() async throws {
        let channel = BodyChannel(capacity: 8)
        async let waited: [UInt8]? = withUnsafeThrowingContinuation { waiter in
            if case .chunk(let chunk, _) = channel.wait(waiter) { waiter.resume(returning: chunk) }
        }
        // The reader and the chunk may come in either order.
        _ = channel.append([1, 2])
        #expect(try await waited == [1, 2])
        let both = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do {
                        _ = try await withUnsafeThrowingContinuation { (waiter: BodyChannel.Waiter) in
                            guard case .failure(let error) = channel.wait(waiter) else { return }
                            waiter.resume(throwing: error)
                            channel.finish(.success([:]))
                        }
                        return nil
                    } catch {
                        return (error as? CurlewError)?.code
                    }
                }
            }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(both.contains(.responseAlreadyTaken) && both.contains(nil))
    }

    @Test("the first end of a body is final, and the chunks before it are read first")
    func end() {
        let channel = BodyChannel(capacity: 8)
        _ = channel.append([1])
        channel.finish(.failure(CurlewError(.connectionLost, "lost")))
        channel.finish(.success([:]))
        #expect(channel.isFinished && channel.trailers == nil)
        guard case .chunk([1], false) = channel.take(), case .failure(let error) = channel.take() else {
            Issue.record("neither the chunk nor the failure")
            return
        }
        #expect(error.code == .connectionLost)
        // A finished channel delays no writer.
        #expect(channel.admits(1000, pending: 0))
    }

    @Test("the memory of read chunks is reused, for at most eight chunks")
    func recycling() {
        let channel = BodyChannel(capacity: 8)
        for _ in 0..<20 {
            var chunk = [UInt8](repeating: 1, count: 64 << 10)
            channel.recycle(&chunk)
            #expect(chunk.isEmpty)
        }
        var kept = 0
        while channel.takeSpare(for: 64 << 10).capacity >= 64 << 10 { kept += 1 }
        #expect(kept == 8)
        #expect(channel.takeSpare(for: 64 << 10).isEmpty)
    }
}
