import Curlew
import Dispatch
import FoundationEssentials
import Glibc
import TerminalOutput

/// A file that the command line names; `-` is standard input.
enum InputFile {
    /// The most bytes that are read into memory.
    static let limit = 256 << 20

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The bytes of the file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed``.
    static func bytes(of path: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in InputChunks(path) {
            bytes += chunk
            guard bytes.count <= limit else {
                throw CurlewError(.bodyFailed, "\(printable(path)) is too large for memory; -T streams a file")
            }
        }
        return bytes
    }

    /// The text of the file, without the line end at its end.
    static func text(of path: String) async throws -> String {
        var bytes = try await bytes(of: path)
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CurlewError(.bodyFailed, "\(printable(path)) is not text in UTF-8")
        }
        return text
    }
}

/// The bytes of a file or of standard input, in chunks.
struct InputChunks: AsyncSequence, Sendable {
    private let path: String

    /// - Parameter path: The path of the file; `-` is standard input.
    init(_ path: String) { self.path = path }

    func makeAsyncIterator() -> Iterator { Iterator(path) }

    struct Iterator: AsyncIteratorProtocol {
        private let reader: Reader

        init(_ path: String) { reader = Reader(path) }

        func next() async throws -> [UInt8]? { try await reader.next() }
    }
}

/// The open file. Reads block a queue of their own, because standard input may be silent for a long time.
private final class Reader: @unchecked Sendable {
    private let path: String
    private let queue = DispatchQueue(label: "input")
    // The state belongs to the queue.
    private var descriptor: Int32?

    init(_ path: String) { self.path = path }

    deinit { if let descriptor, descriptor > 2 { close(descriptor) } }

    func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.read() }) }
        }
    }

    private func read() throws -> [UInt8]? {
        let file = try descriptor ?? open()
        descriptor = file
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if count > 0 { return Array(chunk.prefix(count)) }
            if count == 0 { return nil }
            guard errno == EINTR else { throw failure() }
        }
    }

    private func open() throws -> Int32 {
        guard path != "-" else { return STDIN_FILENO }
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure() }
        return file
    }

    private func failure() -> CurlewError {
        CurlewError(.bodyFailed, "\(printable(path)) cannot be read: \(SystemText.error(errno))")
    }
}

/// The texts of the system.
enum SystemText {
    static func error(_ number: Int32) -> String { strerror(number).map { String(cString: $0) } ?? "error \(number)" }
}
