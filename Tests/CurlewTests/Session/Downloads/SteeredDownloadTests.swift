import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Downloads that are suspended, resumed and cancelled", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SteeredDownloadTests {
    @Test("a download cancelled before its start sends no request, and its original token stays valid")
    func cancelBeforeStart() async throws {
        let bench = try await DownloadBench()
        let fresh = try bench.task()
        #expect(await fresh.cancel() == nil)
        fresh.resume()
        #expect(fresh.state == .cancelled)
        #expect(await curlewError { _ = try await fresh.file() }?.code == .cancelled)
        let token = try await bench.brokenOff(after: 1000)
        let task = try bench.session.downloadTask(resuming: token)
        #expect(await task.cancel() == token)
        #expect(task.currentProgress.isFinished && bench.server.requestCount == 1)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
    }

    @Test("a download cancelled before the head keeps no bytes")
    func cancelBeforeHead() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.atResponseStart, .stall))
        let task = try bench.task()
        task.resume()
        try await bench.server.waitForFaults(1)
        #expect(task.state == .running)
        #expect(await task.cancel() == nil)
        #expect(task.state == .cancelled && bench.folder.names.isEmpty)
    }

    @Test("a download cancelled while it receives leaves a token that can be resumed", arguments: [true, false])
    func cancelUnderWay(byTask: Bool) async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall))
        let task = try bench.task()
        task.resume()
        let waiter = Task { try await task.file() }
        await task.received(100_000)
        if byTask { await task.cancel() } else { waiter.cancel() }
        let error = await curlewError { _ = try await waiter.value }
        #expect(error?.code == .cancelled && task.state == .cancelled)
        let token = try #require(error?.resumeToken)
        #expect(token.receivedCount == 100_000)
        #expect(await task.cancel() == token)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
    }

    @Test("a cancellation calls handlers that ask for the state of the download", .timeLimit(.minutes(1)))
    func cancellationHandler() async throws {
        let bench = try await DownloadBench()
        let asked = Guarded<TaskActor.State?>(nil)
        let download = Guarded<DownloadTask?>(nil)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let destination = Destination.chosen { _, _ in
            start.yield()
            try await withTaskCancellationHandler {
                try await untilCancelled()
            } onCancel: {
                let state = download.withLock { $0 }?.state
                asked.withLock { $0 = state }
            }
            return ""
        }
        let task = try bench.session.downloadTask(.raw(bench.server.url("/file.bin")), to: destination)
        download.withLock { $0 = task }
        task.resume()
        for await _ in started { break }
        await task.cancel()
        #expect(asked.withLock { $0 } == .running && task.state == .cancelled)
        download.withLock { $0 = nil }
    }

    private struct Hasty: Transport {
        let chunks: Guarded<Int>

        func send(_ request: CurlewRequest) async throws -> CurlewResponse {
            let body = CurlewResponse.Body.stream(CancellingBody { chunks.withLock { $0 += 1 } }, length: 1 << 20)
            return CurlewResponse(.ok, fields: [.eTag: "\"one\""], body: body, uri: request.uri)
        }
    }

    @Test("a download can be cancelled while the next chunk is always available")
    func cancelInHaste() async throws {
        let folder = try ScratchFolder()
        let chunks = Guarded(0)
        let session = try HTTPSession(transport: Hasty(chunks: chunks), chain: .bare) { ContentDecoding() }
        let error = await curlewError {
            _ = try await session.download("http://a.test/f", to: .file(folder.file("f")))
        }
        #expect(error?.code == .cancelled && error?.resumeToken?.receivedCount == 2048)
        #expect(chunks.withLock { $0 } == 3)
    }

    @Test("a download cancelled while it reads the body of a refusal fails as cancelled")
    func cancelRefusal() async throws {
        let bench = try await DownloadBench { _, _ in MockResponse(status: .notFound, body: "no such thing") }
        try bench.server.inject(Fault(.inResponseBody(after: 3), .stall))
        let task = try bench.task()
        task.resume()
        try await bench.server.waitForFaults(1)
        let attempt = try #require(await bench.session.session?.tasks(.download).first)
        for await progress in attempt.progress where progress.received.wire >= 3 { break }
        #expect(await task.cancel() == nil)
        #expect(task.state == .cancelled && bench.folder.names.isEmpty)
    }

    @Test("a download can be cancelled while it waits to resume, and cancelling after its end has no effect")
    func cancelWaiting() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .close))
        let clock = TestClock()
        let task = try bench.task(
            .quick(resumes: 1) {
                $0.clock = clock
                $0.retries.backoff = Retry.Backoff(base: .seconds(5), random: { 1 })
            })
        task.resume()
        try await clock.waitForSleepers(1)
        let token = try #require(await task.cancel())
        #expect(token.receivedCount == 100_000)
        let second = try bench.session.downloadTask(resuming: token)
        second.resume()
        _ = try await second.file()
        #expect(await second.cancel() == nil && second.state == .completed)
        try bench.expectWhole()
    }

    @Test("cancelling an attempt in the session's task list ends the download")
    func cancelAttempt() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall))
        let task = try bench.task(.quick(resumes: 3))
        task.resume()
        await task.received(100_000)
        let attempts = try #require(await bench.session.session?.tasks(.download))
        #expect(attempts.count == 1)
        attempts.first?.cancel()
        let error = await curlewError { _ = try await task.file() }
        #expect(error?.code == .cancelled && error?.resumeToken?.receivedCount == 100_000)
        await error?.resumeToken?.discard()
        #expect(bench.folder.names.isEmpty)
    }

    @Test("a session that is shut down leaves a token")
    func invalidated() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall))
        let task = try bench.task(.quick(resumes: 3))
        task.resume()
        await task.received(100_000)
        await bench.session.session?.invalidate(cancelling: true)
        let error = await curlewError { _ = try await task.file() }
        #expect(error?.code == .sessionInvalidated && error?.resumeToken?.receivedCount == 100_000)
        await bench.end()
    }

    @Test("a suspended download receives no bytes, and its idle timeout is stopped")
    func suspended() async throws {
        // The transfer takes seconds, so that it does not end before it is suspended.
        let bench = try await DownloadBench(
            4_000_000, adjust: { $0.throttle = .init(bytes: 100_000, every: .milliseconds(50)) })
        var options = RequestOptions()
        options.idleTimeout = .milliseconds(300)
        options.bodyBufferSize = .kibibytes(64)
        let task = try bench.task(requestOptions: options)
        task.resume()
        await task.received(1)
        task.suspend()
        #expect(task.state == .suspended)
        let attempt = try #require(await bench.session.session?.tasks(.download).first)
        try await eventually("the attempt is suspended") { await attempt.state == .suspended }
        // A later request reaches its idle timeout, so this one's would have expired by then.
        let silent = try await DownloadBench()
        try silent.server.inject(Fault(.atResponseStart, .stall))
        let error = await curlewError { _ = try await silent.session.get(.raw(silent.server.url()), options: options) }
        #expect(error?.code == .idleTimeout)
        await silent.end()
        #expect(task.state == .suspended && !task.currentProgress.isFinished)
        #expect(task.currentProgress.received.wire < 4_000_000)
        task.resume()
        #expect(task.state == .running)
        _ = try await task.file()
        try bench.expectWhole()
    }

    @Test("a download suspended while it waits to resume does not start its next attempt")
    func suspendedWaiting() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .close))
        let clock = TestClock()
        let task = try bench.task(
            .quick(resumes: 1) {
                $0.clock = clock
                $0.retries.backoff = Retry.Backoff(base: .seconds(5), random: { 1 })
            })
        task.resume()
        try await clock.waitForSleepers(1)
        task.suspend()
        clock.advance(by: .seconds(5))
        try await eventually("an attempt begins") {
            await bench.session.session?.tasks(.download).isEmpty == false
        }
        #expect(task.state == .suspended && bench.server.requestCount == 1)
        task.resume()
        _ = try await task.file()
        try bench.expectWhole()
    }

    @Test("a download can be suspended before the head, and cancelled while suspended")
    func suspendedBeforeHead() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.atResponseStart, .stall), at: .every)
        let early = try bench.task()
        early.resume()
        early.suspend()
        early.resume()
        early.suspend()
        #expect(early.state == .suspended)
        #expect(await early.cancel() == nil)
        #expect(early.state == .cancelled && bench.folder.names.isEmpty)
    }

    @Test("a download whose task is not referenced continues")
    func unheld() async throws {
        let bench = try await DownloadBench()
        let progress: DownloadTask.Progress
        do {
            let task = try bench.task()
            task.resume()
            progress = task.progress
        }
        for await _ in progress {}
        try bench.expectWhole()
    }
}
