/// Cuts bytes into lines at LF, whatever pieces they come in. The lines have no end of their own (LF or CRLF).
package struct LineSplitter {
    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var searched = 0

    /// - Parameter limit: The longest line in bytes.
    package init(limit: Int) { self.limit = limit }

    package mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(start)
        searched -= start
        start = 0
        buffer.append(contentsOf: bytes)
    }

    /// The next whole line, if there is one.
    /// - Throws: ``CurlewError`` with ``ErrorCode/responseTooLarge``.
    package mutating func next() throws -> ArraySlice<UInt8>? {
        guard let end = buffer[searched...].firstIndex(of: .lineFeed) else {
            searched = buffer.count
            try check(buffer.count - start)
            return nil
        }
        try check(end - start)
        defer {
            start = end + 1
            searched = start
        }
        let hasReturn = end > start && buffer[end - 1] == .carriageReturn
        return buffer[start..<(hasReturn ? end - 1 : end)]
    }

    /// What stands after the last line end; nil if that is nothing.
    package mutating func rest() -> ArraySlice<UInt8>? {
        defer { start = buffer.count }
        return start < buffer.count ? buffer[start...] : nil
    }

    private func check(_ length: Int) throws {
        guard length <= limit else {
            throw CurlewError(.responseTooLarge, "a line is longer than \(limit) bytes")
        }
    }
}
