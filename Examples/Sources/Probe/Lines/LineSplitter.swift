internal import Glibc

/// Splits a stream of bytes into lines. It buffers at most one line's limit and one read.
struct LineSplitter {
    /// The number of bytes that are kept of an overlong line: enough to find its id in most cases.
    static let beginningSize = 4096

    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var searched = 0
    /// The beginning of an overlong line whose end has not arrived.
    private var beginning: [UInt8]?

    /// - Parameter limit: The longest line in bytes.
    init(limit: Int) { self.limit = limit }

    mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(start)
        searched -= start
        start = 0
        buffer.append(contentsOf: bytes)
    }

    /// The next complete line.
    mutating func next() -> InputLine? {
        guard let end = findEnd() else {
            dropTooLong()
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return take(to: end)
    }

    /// The bytes after the last line end, if any.
    mutating func last() -> InputLine? {
        guard start < buffer.count || beginning != nil else { return nil }
        defer { start = buffer.count }
        return take(to: buffer.count)
    }

    private mutating func take(to end: Int) -> InputLine {
        if let beginning {
            self.beginning = nil
            return .tooLong(beginning: beginning)
        }
        let line = buffer[start..<end]
        return line.count > limit ? .tooLong(beginning: Array(line.prefix(Self.beginningSize))) : .line(Array(line))
    }

    private mutating func dropTooLong() {
        guard beginning != nil || buffer.count - start > limit else { return }
        if beginning == nil { beginning = Array(buffer[start...].prefix(Self.beginningSize)) }
        buffer = []
        start = 0
        searched = 0
    }

    private mutating func findEnd() -> Int? {
        let found: Int? = buffer.withUnsafeBytes { bytes in
            guard searched < bytes.count, let base = bytes.baseAddress,
                let place = memchr(base + searched, 0x0A, bytes.count - searched)
            else { return nil }
            return UnsafeRawPointer(place) - base
        }
        if found == nil { searched = buffer.count }
        return found
    }
}
