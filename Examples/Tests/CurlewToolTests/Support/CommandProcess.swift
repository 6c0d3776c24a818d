import Foundation

/// The built command line tool as a child process.
final class CommandProcess {
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    /// The standard input of the tool; nil is the standard input of the tests.
    private let input: Pipe?
    private var lines: AsyncStream<String>.Iterator
    private let ended: AsyncStream<Int32>

    /// - Parameters:
    ///   - prefix: A program, with arguments, that runs the tool.
    ///   - text: The standard input of the tool; nil is the standard input of the tests.
    ///   - keepsInput: True if the standard input stays open until the end of the process.
    init(_ arguments: [String], prefix: [String] = [], input text: String? = nil, keepsInput: Bool = false) throws {
        input = text == nil && !keepsInput ? nil : Pipe()
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        // The executable is beside the program that runs the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("curlew").path
        let command = prefix + [tool] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        lines = Self.lines(of: output.fileHandleForReading).makeAsyncIterator()
        if let input { process.standardInput = input }
        try process.run()
        if let text { try input?.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }
        if !keepsInput { try input?.fileHandleForWriting.close() }
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

    var identifier: Int32 { process.processIdentifier }

    /// The next line; nil at the end of the output.
    func next() async -> String? { await lines.next(isolation: #isolation) }

    func interrupt() { process.interrupt() }

    /// The exit status, negative for a signal.
    func status() async -> Int32? { await ended.first { _ in true } }

    /// The text on standard error, once the process has ended.
    func complaints() throws -> String {
        String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }
}
