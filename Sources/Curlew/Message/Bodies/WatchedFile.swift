/// A file, or a range of it, that must stay as it was when it was first looked at.
///
/// A file that is sent whole may not change at all: not its size, not its modification time, nor may another take its
/// place. Of one that a range is sent of, the file must be the same and reach as far as the range; it may grow.
struct WatchedFile: Sendable {
    let path: String
    let range: Range<Int64>
    /// True if the file may not change at all: all that it has is sent, if need be from an offset on, or a part of what it was when an upload
    /// began.
    let isWhole: Bool
    private let snapshot: FileSnapshot

    /// - Parameter range: The bytes to send; nil stands for all of them.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that cannot be sent,
    ///   ``ErrorCode/bodyLengthMismatch`` for one that is shorter than the range.
    init(path: String, range: Range<Int64>?) throws {
        snapshot = try FileSnapshot(path: path)
        self.path = path
        self.range = range ?? 0..<snapshot.size
        isWhole = range == nil
        try verify(snapshot)
    }

    /// What ``CurlewRequest/Body/file(_:offset:length:)`` stands for at this moment, looked at with one system call.
    ///
    /// Without a length it goes to the file's end, and so the file may not change at all.
    /// - Throws: As the other does.
    init(path: String, offset: Int64, length: Int64?) throws {
        snapshot = try FileSnapshot(statusOf: path, for: .sending)
        let (end, isTooLarge) = length.map { offset.addingReportingOverflow($0) } ?? (snapshot.size, false)
        guard !isTooLarge, offset <= end, end <= snapshot.size else {
            throw CurlewError(.bodyLengthMismatch, "the file is shorter than the range to be sent")
        }
        self.path = path
        range = offset..<end
        isWhole = length == nil
    }

    /// A range of a file that may not have changed at all since it was looked at.
    /// - Throws: As the others do.
    init(path: String, range: Range<Int64>, unchangedSince snapshot: FileSnapshot) throws {
        self.snapshot = snapshot
        self.path = path
        self.range = range
        isWhole = true
        try verify()
    }

    var length: Int64 { range.upperBound - range.lowerBound }
    /// True if there is nothing after what is sent.
    var reachesEnd: Bool { isWhole && range.upperBound == snapshot.size }

    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyLengthMismatch`` unless the file is as it was.
    func verify(_ current: FileSnapshot) throws {
        guard range.lowerBound >= 0, current.size >= range.upperBound else {
            throw CurlewError(
                .bodyLengthMismatch, "the file has \(current.size) bytes, and \(range.upperBound) are to be sent")
        }
        guard isWhole ? current == snapshot : current.isSameFile(as: snapshot) else {
            throw CurlewError(.bodyLengthMismatch, "the file is not the one it was, or has changed")
        }
    }

    /// Looks at the file again.
    func verify() throws { try verify(FileSnapshot(path: path)) }
}

/// The bytes of a watched file, opened when the first are asked for, and looked at once more when all were read.
struct WatchedFileChunks: AsyncSequence, Sendable {
    let file: WatchedFile

    struct Iterator: AsyncIteratorProtocol {
        let file: WatchedFile
        /// The offset in the file of what comes next.
        var position: Int64
        private var reader: FileReader?
        private var isAtEnd = false

        fileprivate init(file: WatchedFile) {
            self.file = file
            position = file.range.lowerBound
        }

        mutating func next() async throws -> [UInt8]? {
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

        /// What is at the path must still be what was read, and have no more of it. Files that the kernel makes up, as in /proc, say that they are empty and are not.
        private func checkEnd(of reader: FileReader) async throws {
            try file.verify(try await reader.snapshot(at: file.path))
            guard file.reachesEnd, try await !reader.read(at: position, count: 1).isEmpty else { return }
            throw CurlewError(.bodyLengthMismatch, "the file is longer than it says")
        }

        /// The file, opened by the first who asks, and looked at.
        mutating func opened() async throws -> FileReader {
            if let reader { return reader }
            let reader = try await FileReader(path: file.path)
            try file.verify(try await reader.snapshot())
            self.reader = reader
            return reader
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: file) }
}
