import Curlew
import TerminalOutput

/// The lines of a file or of standard input, read as they are used.
struct InputLines: AsyncSequence, Sendable {
    /// The greatest length of a line, in bytes.
    static let limit = 16 << 20

    private let path: String

    /// - Parameter path: The path of the file; `-` is standard input.
    init(_ path: String) { self.path = path }

    func makeAsyncIterator() -> Iterator { Iterator(path) }

    struct Iterator: AsyncIteratorProtocol {
        private let path: String
        private var chunks: InputChunks.Iterator
        /// The bytes that were read but not yet used.
        private var rest: ArraySlice<UInt8> = []

        init(_ path: String) {
            self.path = path
            chunks = InputChunks(path).makeAsyncIterator()
        }

        /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for input that cannot be read, and for a long line.
        mutating func next() async throws -> String? {
            var line: [UInt8] = []
            while true {
                if let end = rest.firstIndex(of: 0x0A) {
                    line += rest[..<end]
                    rest = rest[(end + 1)...]
                    break
                }
                line += rest
                guard line.count <= InputLines.limit else {
                    throw CurlewError(.bodyFailed, "a line of \(printable(path)) has more than 16 MiB")
                }
                guard let chunk = try await chunks.next() else {
                    rest = []
                    if line.isEmpty { return nil }
                    break
                }
                rest = chunk[...]
            }
            if line.last == 0x0D { line.removeLast() }
            return String(decoding: line, as: UTF8.self)
        }
    }
}
