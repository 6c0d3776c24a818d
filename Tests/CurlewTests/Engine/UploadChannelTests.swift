import CLinux
import Glibc
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

    /// True if the file system of the tests' files says what of them is in memory, which not all do.
    private static let knowsCache: Bool = {
        guard let folder = try? ScratchFolder(), let path = try? folder.write("file", [1]) else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return curlew_read_cached(descriptor, &byte, 1, 0) == 1
    }()

    @Test(
        "a range of a file that is lent is read in pieces of any size behind the chunks that wait, and then given back",
        .enabled(if: knowsCache, "the file system does not say what is in memory"))
    func loan() async throws {
        let folder = try ScratchFolder()
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let file = try await FileReader(path: try folder.write("file", bytes))
        let wakes = Guarded(0)
        let channel = UploadChannel(capacity: .max) { wakes.withLock { $0 += 1 } }
        #expect(await channel.write([1, 2, 3]))
        async let returned = channel.lend(file, 10..<90_000)
        var received = read(2, from: channel).bytes
        #expect(received == [1, 2])
        while received.count < 3 + 89_990 {
            let (taken, bytes) = read(min(5000, 3 + 89_990 - received.count), from: channel)
            received += bytes
            if case .wait = taken { await Task.yield() }
        }
        #expect(received == [1, 2, 3] + bytes[10..<90_000])
        let loan = await returned
        #expect(loan?.position == 90_000 && loan?.reason == .isThrough)
        guard case .wait = read(1, from: channel).taken else {
            Issue.record("more than the range was read")
            return
        }
    }

    @Test(
        "a file that has become shorter is given back where it ends",
        .enabled(if: knowsCache, "the file system does not say what is in memory"))
    func shorterFile() async throws {
        let folder = try ScratchFolder()
        let file = try await FileReader(path: try folder.write("file", [1, 2, 3, 4]))
        let channel = UploadChannel(capacity: .max) {}
        async let returned = channel.lend(file, 0..<10)
        var received: [UInt8] = []
        while received.count < 4 {
            received += read(9, from: channel).bytes
            await Task.yield()
        }
        guard case .wait = read(9, from: channel).taken else {
            Issue.record("there are bytes behind the end")
            return
        }
        let loan = await returned
        #expect(loan?.position == 4 && loan?.reason == .needsDisk)
    }

    @Test(
        "who has lent a file learns that the channel is closed, before and after",
        .enabled(if: knowsCache, "the file system does not say what is in memory"))
    func closingWithLoan() async throws {
        let folder = try ScratchFolder()
        let file = try await FileReader(path: try folder.write("file", [1, 2, 3, 4]))
        let channel = UploadChannel(capacity: .max) {}
        async let returned = channel.lend(file, 0..<4)
        while read(1, from: channel).bytes.isEmpty { await Task.yield() }
        channel.close()
        #expect(await returned == nil)
        #expect(await channel.lend(file, 1..<4) == nil)
    }

    @Test(
        "a reader that found nothing is woken by a loan",
        .enabled(if: knowsCache, "the file system does not say what is in memory"))
    func wakingByLoan() async throws {
        let folder = try ScratchFolder()
        let file = try await FileReader(path: try folder.write("file", [1, 2, 3, 4]))
        let (woken, wake) = AsyncStream<Void>.makeStream()
        let channel = UploadChannel(capacity: .max) { wake.yield() }
        guard case .wait = read(1, from: channel).taken else {
            Issue.record("something is there")
            return
        }
        async let returned = channel.lend(file, 0..<4)
        var wakings = woken.makeAsyncIterator()
        await wakings.next()
        #expect(read(9, from: channel).bytes == [1, 2, 3, 4])
        #expect(await returned?.reason == .isThrough)
    }
}
