import Foundation

/// The built program as a child process.
final class AggregatorProcess {
    private let process = Process()
    private let output = Pipe()
    private var lines: AsyncStream<String>.Iterator
    private let ended: AsyncStream<Int32>

    /// - Parameter arguments: The arguments after the program's name.
    init(_ arguments: [String]) throws {
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        // The executable is beside the program that runs the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(
            "aggregator")
        process.arguments = arguments
        process.standardOutput = output
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        lines = Self.lines(of: output.fileHandleForReading).makeAsyncIterator()
        try process.run()
    }

    private static func lines(of handle: FileHandle) -> AsyncStream<String> {
        AsyncStream { continuation in
            let reader = Thread {
                var rest = Data()
                while let piece = try? handle.read(upToCount: 1), !piece.isEmpty {
                    if piece[piece.startIndex] != UInt8(ascii: "\n") {
                        rest += piece
                    } else {
                        continuation.yield(String(decoding: rest, as: UTF8.self))
                        rest = Data()
                    }
                }
                continuation.finish()
            }
            reader.start()
        }
    }

    /// The next line of the output; nil at the end.
    func nextLine() async -> String? { await lines.next(isolation: #isolation) }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// The exit status, negative for a signal.
    func status() async -> Int32? { await ended.first { _ in true } }

    // A failed test must not leave the process behind.
    deinit { if process.isRunning { process.terminate() } }
}
