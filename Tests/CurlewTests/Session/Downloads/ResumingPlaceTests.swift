import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("The destinations of resumed downloads", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct ResumingPlaceTests {
    private func failure(
        _ bench: DownloadBench, _ token: ResumeToken, to destination: Destination? = nil
    ) async -> CurlewError? {
        let error = await curlewError { _ = try await bench.session.download(resuming: token, to: destination) }
        // The error comes before the rest is transferred, and nothing is lost.
        #expect(error?.file == nil && error?.resumeToken?.receivedCount == 100_000)
        return error
    }

    @Test("an existing file is detected when the first answer comes")
    func taken() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        try bench.folder.write("file.bin", [1])
        #expect(await failure(bench, token)?.code == .fileExists)
        #expect(try bench.folder.bytes("file.bin") == [1])
        try bench.folder.remove("file.bin")
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
    }

    @Test("a missing folder is detected when the first answer comes, or created on request")
    func folder() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        var destination = Destination.file(bench.folder.file("new/file.bin"))
        #expect(await failure(bench, token, to: destination)?.code == .fileFailed)
        destination.createsFolders = true
        _ = try await bench.session.download(resuming: token, to: destination)
        #expect(try bench.folder.bytes("new/file.bin") == bench.expected && bench.folder.names == ["new"])
    }

    @Test("a destination on another disk is an error", .enabled(if: TemporaryDisk.isPermitted))
    func otherDisk() async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let error = await failure(bench, token, to: .file(disk.folder.file("file.bin")))
        #expect(error?.code == .invalidDestination && disk.folder.names.isEmpty)
    }
}
