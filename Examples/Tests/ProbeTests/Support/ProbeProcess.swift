import Foundation
import Testing

@testable import Probe

/// The built probe as a child process.
final class ProbeProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private let lines: LineReader
    private let ended: AsyncStream<Int32>

    init() throws {
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        lines = LineReader(descriptor: output.fileHandleForReading.fileDescriptor)
        // Beside the program that runs the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appendingPathComponent("curlew-probe")
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        try process.run()
    }

    func send(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    func endInput() throws { try input.fileHandleForWriting.close() }

    /// Closes the reading end of the answers.
    func closeOutput() throws { try output.fileHandleForReading.close() }

    /// The next answer; nil at their end.
    func next() async throws -> String? {
        switch await lines.next() {
        case nil: return nil
        case .line(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .tooLong: throw LineProblem.unusable("an answer is too long")
        }
    }

    /// The exit status, negative for a signal.
    func status() async -> Int32? { await ended.first { _ in true } }

    /// The text on standard error, once the process has ended.
    func complaints() throws -> String {
        String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }
}
