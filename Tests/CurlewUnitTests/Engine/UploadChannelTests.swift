import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The channel of a request body", .timeLimit(.minutes(1)))
struct UploadChannelTests {
    private func read(_ count: Int, from channel: UploadChannel) -> (taken: UploadChannel.Taken, bytes: [UInt8]) {
        var space = [UInt8](repeating: 0, count: count)
        let taken = space.withUnsafeMutableBytes { channel.read(into: $0) }
        guard case .bytes(let found) = taken else { return (taken, []) }
        return (taken, Array(space.prefix(found)))
    }

    @Test("chunks are delivered in order, however they are split")
    func order() async {
        let channel = UploadChannel(capacity: .max) {}
        var sent: [UInt8] = []
        for number in 0..<500 {
            let chunk = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 + number % 7)
            sent += chunk
            #expect(await channel.write(chunk))
        }
        var received: [UInt8] = []
        var size = 1
        while received.count < sent.count {
            received += read(size, from: channel).bytes
            size = size % 11 + 1
        }
        #expect(received == sent)
        channel.finish(.success(()))
        guard case .end = read(1, from: channel).taken else {
            Issue.record("no end")
            return
        }
    }

    @Test("a full channel suspends its writer until half of it was read")
    func backPressure() async {
        let channel = UploadChannel(capacity: 4) {}
        let isWritten = Guarded(false)
        async let write: Void = {
            #expect(await channel.write([1, 2, 3, 4, 5, 6, 7, 8]))
            isWritten.withLock { $0 = true }
        }()
        var bytes: [UInt8] = []
        while bytes.count < 6 {
            #expect(!isWritten.withLock { $0 })
            bytes += read(1, from: channel).bytes
            await Task.yield()
        }
        await write
        #expect(bytes + read(9, from: channel).bytes == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test("a waiting reader is woken once, by the next bytes or by the end")
    func waking() async {
        let wakes = Guarded(0)
        let channel = UploadChannel(capacity: 100) { wakes.withLock { $0 += 1 } }
        #expect(await channel.write([1]))
        #expect(wakes.withLock { $0 } == 0)
        #expect(read(4, from: channel).bytes == [1])
        guard case .wait = read(4, from: channel).taken else {
            Issue.record("something is there")
            return
        }
        #expect(await channel.write([2]))
        #expect(await channel.write([3]))
        #expect(wakes.withLock { $0 } == 1)
        #expect(read(4, from: channel).bytes == [2, 3])
        _ = read(4, from: channel)
        channel.finish(.success(()))
        channel.finish(.failure(CurlewError(.bodyFailed, "too late")))
        #expect(wakes.withLock { $0 } == 2)
        guard case .end = read(4, from: channel).taken else {
            Issue.record("the first end counts")
            return
        }
    }

    @Test("bytes written before a failure are delivered first")
    func failure() async {
        let channel = UploadChannel(capacity: 100) {}
        #expect(await channel.write([1, 2]))
        channel.finish(.failure(CurlewError(.bodyFailed, "broken")))
        #expect(read(8, from: channel).bytes == [1, 2])
        guard case .failure(let error) = read(8, from: channel).taken else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .bodyFailed)
    }

    @Test("a writer is notified of a closed channel, whether it writes or waits")
    func closing() async {
        let channel = UploadChannel(capacity: 2) {}
        async let waiting = channel.write([1, 2, 3])
        while read(1, from: channel).bytes.isEmpty { await Task.yield() }
        channel.close()
        _ = await waiting
        #expect(await channel.write([4]) == false)
        #expect(await channel.write([]) == false)
    }

    /// A file with a scripted result of each read; then no part of it is cached.
    private final class ScriptedFile: CachedFile {
        let bytes: [UInt8]
        private let outcomes: Guarded<[CachedRead]>

        /// - Parameter outcomes: The maximum number of bytes of a read, or the reason why it returns none.
        init(_ bytes: [UInt8], _ outcomes: [CachedRead]) {
            self.bytes = bytes
            self.outcomes = Guarded(outcomes)
        }

        func readCached(at offset: Int64, into space: UnsafeMutableRawBufferPointer) -> CachedRead {
            let outcome = outcomes.withLock { $0.isEmpty ? .notCached : $0.removeFirst() }
            guard case .bytes(let limit) = outcome else { return outcome }
            let rest = bytes[Int(offset)...].prefix(min(space.count, limit))
            space.copyBytes(from: rest)
            return .bytes(rest.count)
        }
    }

    /// Reads until the channel's own reading of a file has ended.
    private func readAll(_ file: some CachedFile, _ range: Range<Int64>, by size: Int, from channel: UploadChannel)
        async -> (DirectRead?, [UInt8])
    {
        let (ends, end) = AsyncStream<DirectRead?>.makeStream()
        let isOver = Guarded(false)
        let reading = Task {
            let read = await channel.readDirectly(file, range)
            isOver.withLock { $0 = true }
            end.yield(read)
        }
        var received: [UInt8] = []
        while !isOver.withLock({ $0 }) {
            received += self.read(size, from: channel).bytes
            await Task.yield()
        }
        await reading.value
        for await read in ends { return (read, received) }
        return (nil, received)
    }

    private static let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    @Test("a file range is read in pieces of any size, after the waiting chunks", arguments: [1, 7, 400])
    func directRead(size: Int) async {
        let channel = UploadChannel(capacity: .max) {}
        let file = ScriptedFile(Self.bytes, Array(repeating: .bytes(100), count: 1000))
        #expect(await channel.write([1, 2, 3]))
        let (read, received) = await readAll(file, 10..<900, by: size, from: channel)
        #expect(received == [1, 2, 3] + Self.bytes[10..<900])
        #expect(read?.position == 900 && read?.outcome == .completed)
        guard case .wait = self.read(1, from: channel).taken else {
            Issue.record("more than the range was read")
            return
        }
    }

    @Test("a file with uncached, missing or unreadable parts is read as far as possible")
    func brokenRead() async {
        for (outcome, expected) in [
            (CachedRead.notCached, DirectRead.Outcome.notCached), (.bytes(0), .notCached), (.unsupported, .unsupported),
        ] {
            let channel = UploadChannel(capacity: .max) {}
            let (read, received) = await readAll(
                ScriptedFile(Self.bytes, [.bytes(4), .bytes(9), outcome]), 0..<100, by: 50, from: channel)
            #expect(received == Array(Self.bytes.prefix(13)))
            #expect(read?.position == 13 && read?.outcome == expected)
            // The producer continues after the read.
            #expect(await channel.write([9]))
            #expect(self.read(8, from: channel).bytes == [9])
        }
    }

    @Test("a producer that reads a file into a channel gets nil if the channel is closed before or meanwhile")
    func closingWhileReading() async {
        let channel = UploadChannel(capacity: .max) {}
        let file = ScriptedFile(Self.bytes, [.bytes(1), .bytes(1)])
        async let reading = channel.readDirectly(file, 0..<4)
        while read(1, from: channel).bytes.isEmpty { await Task.yield() }
        channel.close()
        #expect(await reading == nil)
        #expect(await channel.readDirectly(file, 1..<4) == nil)
    }

    @Test("a waiting reader is woken by a file")
    func wakingByFile() async {
        let (woken, wake) = AsyncStream<Void>.makeStream()
        let channel = UploadChannel(capacity: .max) { wake.yield() }
        guard case .wait = read(1, from: channel).taken else {
            Issue.record("something is there")
            return
        }
        async let reading = channel.readDirectly(ScriptedFile(Self.bytes, [.bytes(9)]), 0..<4)
        var wakings = woken.makeAsyncIterator()
        await wakings.next()
        #expect(read(9, from: channel).bytes == Array(Self.bytes.prefix(4)))
        #expect(await reading?.outcome == .completed)
    }

    @Test("the page cache returns the bytes of the file, if the file system supports the query")
    func pageCache() async throws {
        let folder = try ScratchFolder()
        let file = try await FileReader(path: try folder.write("file", Self.bytes))
        var space = [UInt8](repeating: 0, count: 100)
        switch space.withUnsafeMutableBytes({ file.readCached(at: 950, into: $0) }) {
        case .bytes(let count): #expect(count == 50 && space.prefix(50) == Self.bytes[950...])
        case .notCached, .unsupported: break
        }
        let large = space.withUnsafeMutableBytes { file.readCached(at: 5 << 30, into: $0) }
        if case .bytes(let count) = large { #expect(count == 0) }
    }
}
