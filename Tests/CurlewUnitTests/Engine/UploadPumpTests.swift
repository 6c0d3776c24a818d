import Glibc
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The pump of a request body", .timeLimit(.minutes(1)))
struct UploadPumpTests {
    private static let part = CurlewRequest.Body.filePart

    /// A sink that accepts chunks, reads from files as scripted by `reads`, and then stops.
    private final class Sink: UploadSink {
        struct State {
            var bytes: [UInt8] = []
            var chunks = 0
            var reads: [(count: Int, outcome: DirectRead.Outcome)]
            var result: Result<Void, CurlewError>?
        }

        let state: Guarded<State>

        init(_ reads: [(count: Int, outcome: DirectRead.Outcome)]) { state = Guarded(State(reads: reads)) }

        func write(_ chunk: [UInt8]) async -> Bool {
            state.withLock { state in
                state.bytes += chunk
                state.chunks += 1
            }
            return true
        }

        func readDirectly(_ file: any CachedFile, _ range: Range<Int64>) async -> DirectRead? {
            guard let read = state.withLock({ $0.reads.isEmpty ? nil : $0.reads.removeFirst() }) else { return nil }
            let count = min(read.count, Int(range.upperBound - range.lowerBound))
            guard let reader = file as? FileReader,
                let bytes = try? await reader.read(at: range.lowerBound, count: count)
            else { return nil }
            state.withLock { $0.bytes += bytes }
            return DirectRead(position: range.lowerBound + Int64(count), outcome: read.outcome)
        }

        func finish(_ result: Result<Void, CurlewError>) { state.withLock { $0.result = result } }
    }

    private func pumped(
        _ bytes: [UInt8], offset: Int = 0, _ reads: [(count: Int, outcome: DirectRead.Outcome)],
        change: (String) throws -> Void = { _ in }
    ) async throws -> Sink.State {
        let folder = try ScratchFolder()
        let path = try folder.write("file", bytes)
        let file = try WatchedFile(path: path, offset: Int64(offset), length: nil)
        try change(path)
        let sink = Sink(reads)
        await UploadPump.run(.watched(file), length: file.length, into: sink)
        return sink.state.withLock { $0 }
    }

    private static let bytes = (0..<(90 * part + 123)).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 13) }

    @Test("a file arrives complete, however much of it the sink reads directly", arguments: [0, 1, part + 7])
    func reads(offset: Int) async throws {
        let outcome = try await pumped(
            Self.bytes, offset: offset,
            [(0, .notCached), (3 * Self.part + 1, .notCached), (5, .notCached), (.max, .completed)])
        #expect(outcome.bytes == Array(Self.bytes[offset...]))
        #expect(outcome.reads.isEmpty)
        guard case .success = outcome.result else {
            Issue.record("\(String(describing: outcome.result))")
            return
        }
    }

    @Test("a sink that cannot read files is asked once, and gets the file in chunks")
    func unknown() async throws {
        let outcome = try await pumped(Self.bytes, [(0, .unsupported), (.max, .completed)])
        #expect(outcome.bytes == Self.bytes && outcome.reads.count == 1 && outcome.chunks == 91)
    }

    @Test("the last part of a file is not read by the sink, and not sent if the file has changed meanwhile")
    func lastPart() async throws {
        let outcome = try await pumped(Self.bytes, [(.max, .completed)])
        #expect(outcome.bytes == Self.bytes && outcome.chunks == 1)

        let changed = try await pumped(Self.bytes, [(.max, .completed)]) { path in
            // The file grows by a byte after its length was read.
            let file = try #require(fopen(path, "a"))
            fputc(1, file)
            fclose(file)
        }
        #expect(changed.bytes.isEmpty)
        guard case .failure(let error) = changed.result else {
            Issue.record("a changed file was sent")
            return
        }
        #expect(error.code == .bodyLengthMismatch)
    }

    @Test("a pump ends when its sink accepts no more of the file")
    func unwanted() async throws {
        let outcome = try await pumped(Self.bytes, [(2 * Self.part, .notCached)])
        #expect(outcome.reads.isEmpty && outcome.bytes == Array(Self.bytes.prefix(18 * Self.part)))
    }

    @Test("a file of one part or less is not read by the sink", arguments: [0, 1, part])
    func small(count: Int) async throws {
        let outcome = try await pumped(Array(Self.bytes.prefix(count)), [(.max, .completed)])
        #expect(outcome.bytes == Array(Self.bytes.prefix(count)) && outcome.reads.count == 1)
    }
}
