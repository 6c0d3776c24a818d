internal import Curlew
internal import Glibc

/// A file that is read from start to end, on its own queue.
actor FileReader {
    private nonisolated let executor = BlockingExecutor("curlew-probe.file")
    private let path: String
    private var descriptor: Int32 = -1

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(path: String) { self.path = path }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The next bytes, at most `count`; nil at the end.
    func next(_ count: Int) throws -> [UInt8]? {
        if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw CurlewError(.bodyFailed, "the file \(path) cannot be opened") }
        do {
            return try Descriptor.read(descriptor, count: count)
        } catch {
            throw CurlewError(.bodyFailed, "the file \(path) cannot be read", underlying: error)
        }
    }

    /// The complete file; nil if it has more than `limit` bytes.
    func all(upTo limit: Int) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while let more = try next(64 << 10) {
            bytes += more
            guard bytes.count <= limit else { return nil }
        }
        return bytes
    }
}
