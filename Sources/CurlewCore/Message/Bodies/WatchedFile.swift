/// A file, or a range of it, that must keep its first recorded state.
///
/// A file that is sent completely must not change: neither in its size or modification time, nor by another file in its
/// place. A file of which a range is sent must stay the same file and contain the range; it may grow.
package struct WatchedFile: Sendable {
    package let path: String
    package let range: Range<Int64>
    /// True if the file must not change. This holds for a file that is sent to its end, from any offset, and for a part
    /// of a resumed upload.
    package let isWhole: Bool
    private let snapshot: FileSnapshot

    /// - Parameter range: The bytes to send; nil means all of them.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that cannot be sent,
    ///   ``ErrorCode/bodyLengthMismatch`` for a file that is shorter than the range.
    package init(path: String, range: Range<Int64>?) throws {
        let snapshot = try CurlewError.naming(path) { try FileSnapshot(path: path) }
        self.snapshot = snapshot
        self.path = path
        self.range = range ?? 0..<snapshot.size
        isWhole = range == nil
        try verify(snapshot)
    }

    /// The present file of ``CurlewRequest/Body/file(_:offset:length:)``. It takes one system call.
    ///
    /// Without a length the range reaches to the file's end, and the file must not change.
    /// - Throws: The errors of `init(path:range:)`.
    package init(path: String, offset: Int64, length: Int64?) throws {
        let snapshot = try CurlewError.naming(path) { try FileSnapshot(statusOf: path, for: .sending) }
        self.snapshot = snapshot
        let (end, isTooLarge) = length.map { offset.addingReportingOverflow($0) } ?? (snapshot.size, false)
        guard !isTooLarge, offset <= end, end <= snapshot.size else {
            throw CurlewError(.bodyLengthMismatch, "the file is shorter than the range to be sent").naming(path)
        }
        self.path = path
        range = offset..<end
        isWhole = length == nil
    }

    /// A range of a file that must not have changed since a recorded state.
    /// - Throws: The errors of `init(path:range:)`.
    package init(path: String, range: Range<Int64>, unchangedSince snapshot: FileSnapshot) throws {
        self.snapshot = snapshot
        self.path = path
        self.range = range
        isWhole = true
        try verify()
    }

    package var length: Int64 { range.upperBound - range.lowerBound }
    /// True if the file has no bytes after the range.
    var reachesEnd: Bool { isWhole && range.upperBound == snapshot.size }

    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyLengthMismatch`` if the file has changed.
    package func verify(_ current: FileSnapshot) throws {
        guard range.lowerBound >= 0, current.size >= range.upperBound else {
            throw CurlewError(
                .bodyLengthMismatch, "the file has \(current.size) bytes, and \(range.upperBound) are to be sent"
            ).naming(path)
        }
        guard isWhole ? current == snapshot : current.isSameFile(as: snapshot) else {
            throw CurlewError(.bodyLengthMismatch, "the file was replaced, or has changed").naming(path)
        }
    }

    /// Checks the present state of the file.
    package func verify() throws { try verify(CurlewError.naming(path) { try FileSnapshot(path: path) }) }
}

/// The bytes of a watched file. The file is opened for the first chunk, and its state is checked again after the last.
struct WatchedFileChunks: AsyncSequence, Sendable {
    let file: WatchedFile

    struct Iterator: AsyncIteratorProtocol {
        let file: WatchedFile
        /// The offset of the next chunk in the file.
        var position: Int64
        private var reader: FileReader?
        private var isAtEnd = false

        fileprivate init(file: WatchedFile) {
            self.file = file
            position = file.range.lowerBound
        }

        mutating func next() async throws -> [UInt8]? {
            do { return try await nextChunk() } catch let error as CurlewError { throw error.naming(file.path) }
        }

        private mutating func nextChunk() async throws -> [UInt8]? {
            guard !isAtEnd else { return nil }
            let reader = try await opened()
            guard position < file.range.upperBound else {
                isAtEnd = true
                self.reader = nil
                try await checkEnd(of: reader)
                return nil
            }
            let count = Int(Swift.min(Int64(CurlewRequest.Body.filePart), file.range.upperBound - position))
            let chunk = try await reader.read(at: position, count: count)
            guard !chunk.isEmpty else {
                throw CurlewError(.bodyLengthMismatch, "the file became shorter while it was sent")
            }
            position += Int64(chunk.count)
            return chunk
        }

        /// Checks that the file at the path is still the one that was read, and has no further bytes. Files that the
        /// kernel generates, such as those in /proc, report a size of zero although they have bytes.
        private func checkEnd(of reader: FileReader) async throws {
            try file.verify(try await reader.snapshot(at: file.path))
            guard file.reachesEnd, try await !reader.read(at: position, count: 1).isEmpty else { return }
            throw CurlewError(.bodyLengthMismatch, "the file is longer than its reported size")
        }

        /// The file, opened and checked at the first call.
        mutating func opened() async throws -> FileReader {
            if let reader { return reader }
            let reader: FileReader
            do { reader = try await FileReader(path: file.path) } catch let error as CurlewError {
                throw error.naming(file.path)
            }
            try file.verify(try await reader.snapshot())
            self.reader = reader
            return reader
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: file) }
}
