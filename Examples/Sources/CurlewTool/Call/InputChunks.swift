import Curlew
import Dispatch
import Glibc
import TerminalOutput

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
