internal import Glibc

/// The lines of a descriptor, read on demand; further lines stay in the pipe.
package actor LineReader {
    /// The longest line: 64 MiB, so a body of 48 MiB in base64. A longer one is reported as
    /// ``InputLine/tooLong(beginning:)``.
    package static let limit = 64 << 20

    private static let readingSize = 64 << 10
    private nonisolated let executor = BlockingExecutor("curlew-probe.input")
    private let descriptor: Int32
    private var splitter: LineSplitter
    private var isAtEnd = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        splitter = LineSplitter(limit: Self.limit)
    }

    /// The next line; nil at the end of the input or after a read error.
    package func next() -> InputLine? {
        while !isAtEnd {
            if let line = splitter.next() { return line }
            if let bytes = try? Descriptor.read(descriptor, count: Self.readingSize) {
                splitter.append(bytes)
            } else {
                isAtEnd = true
            }
        }
        return splitter.next() ?? splitter.last()
    }
}
