import Glibc
import Testing

@testable import Curlew

@Suite("The pump of a request's body", .timeLimit(.minutes(1)))
struct UploadPumpTests {
    private static let part = CurlewRequest.Body.filePart

    /// Takes chunks, and of a loan what `loans` says, one element after the other; then nothing more.
    private final class Sink: UploadSink {
        struct State {
            var bytes: [UInt8] = []
            var chunks = 0
            var loans: [(count: Int, reason: ReturnedLoan.Reason)]
            var result: Result<Void, CurlewError>?
        }

        let state: Guarded<State>

        init(_ loans: [(count: Int, reason: ReturnedLoan.Reason)]) { state = Guarded(State(loans: loans)) }

        func write(_ chunk: [UInt8]) async -> Bool {
            state.withLock { state in
                state.bytes += chunk
                state.chunks += 1
            }
            return true
        }

        func lend(_ file: FileReader, _ range: Range<Int64>) async -> ReturnedLoan? {
            guard let loan = state.withLock({ $0.loans.isEmpty ? nil : $0.loans.removeFirst() }) else { return nil }
            let count = min(loan.count, Int(range.upperBound - range.lowerBound))
            guard let bytes = try? await file.read(at: range.lowerBound, count: count) else { return nil }
            state.withLock { $0.bytes += bytes }
            return ReturnedLoan(position: range.lowerBound + Int64(count), reason: loan.reason)
        }

        func finish(_ result: Result<Void, CurlewError>) { state.withLock { $0.result = result } }
    }

    private func pumped(
        _ bytes: [UInt8], offset: Int = 0, _ loans: [(count: Int, reason: ReturnedLoan.Reason)],
        change: (String) throws -> Void = { _ in }
    ) async throws -> Sink.State {
        let folder = try ScratchFolder()
        let path = try folder.write("file", bytes)
        let file = try WatchedFile(path: path, offset: Int64(offset), length: nil)
        try change(path)
        let sink = Sink(loans)
        await UploadPump.run(.watched(file), length: file.length, into: sink)
        return sink.state.withLock { $0 }
    }

    private static let bytes = (0..<(60 * part + 123)).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 13) }

    @Test("a file arrives whole, however much of it the sink reads by itself", arguments: [0, 1, part + 7])
    func loans(offset: Int) async throws {
        let outcome = try await pumped(
            Self.bytes, offset: offset,
            [(0, .needsDisk), (3 * Self.part + 1, .needsDisk), (5, .needsDisk), (.max, .isThrough)])
        #expect(outcome.bytes == Array(Self.bytes[offset...]))
        #expect(outcome.loans.isEmpty)
        guard case .success = outcome.result else {
            Issue.record("\(String(describing: outcome.result))")
            return
        }
    }

    @Test("a sink that cannot read files is asked once, and gets all of it in chunks")
    func unknown() async throws {
        let outcome = try await pumped(Self.bytes, [(0, .isUnknown), (.max, .isThrough)])
        #expect(outcome.bytes == Self.bytes && outcome.loans.count == 1 && outcome.chunks == 61)
    }

    @Test("the last part of a file is not lent, and not sent if the file has changed meanwhile")
    func lastPart() async throws {
        let outcome = try await pumped(Self.bytes, [(.max, .isThrough)])
        #expect(outcome.bytes == Self.bytes && outcome.chunks == 1)

        let changed = try await pumped(Self.bytes, [(.max, .isThrough)]) { path in
            // Longer by a byte after it was looked at.
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

    @Test("a pump ends when nobody wants what it lends")
    func unwanted() async throws {
        let outcome = try await pumped(Self.bytes, [(2 * Self.part, .needsDisk)])
        #expect(outcome.loans.isEmpty && outcome.bytes == Array(Self.bytes.prefix(18 * Self.part)))
    }

    @Test("a file of one part or less is not lent", arguments: [0, 1, part])
    func small(count: Int) async throws {
        let outcome = try await pumped(Array(Self.bytes.prefix(count)), [(.max, .isThrough)])
        #expect(outcome.bytes == Array(Self.bytes.prefix(count)) && outcome.loans.count == 1)
    }
}
