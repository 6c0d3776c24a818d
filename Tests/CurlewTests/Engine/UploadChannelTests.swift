import Testing

@testable import Curlew

@Suite("The channel of a request's body", .timeLimit(.minutes(1)))
struct UploadChannelTests {
    private func read(_ count: Int, from channel: UploadChannel) -> (taken: UploadChannel.Taken, bytes: [UInt8]) {
        var space = [UInt8](repeating: 0, count: count)
        let taken = space.withUnsafeMutableBytes { channel.read(into: $0) }
        guard case .bytes(let found) = taken else { return (taken, []) }
        return (taken, Array(space.prefix(found)))
    }

    @Test("chunks come out in order, however they are cut")
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

    @Test("a full channel holds its writer until half of it was read")
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

    @Test("a reader that found nothing is woken once by the next bytes or by the end")
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

    @Test("bytes written before a failure are read before it")
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

    @Test("a writer learns that nobody reads once the channel is closed, whether it writes or waits")
    func closing() async {
        let channel = UploadChannel(capacity: 2) {}
        async let waiting = channel.write([1, 2, 3])
        while read(1, from: channel).bytes.isEmpty { await Task.yield() }
        channel.close()
        _ = await waiting
        #expect(await channel.write([4]) == false)
        #expect(await channel.write([]) == false)
    }
}
