internal import HTTPTypes

/// A body that has arrived completely before its reader gets it.
///
/// `@unchecked Sendable`: the lock protects the bytes.
final class WholeBody: BodySource, @unchecked Sendable {
    let trailers: HTTPFields
    private let lock = Lock()
    @exclusivity(unchecked) private var bytes: [UInt8]

    init(_ bytes: consuming [UInt8], trailers: HTTPFields) {
        self.bytes = bytes
        self.trailers = trailers
    }

    func next() async throws -> [UInt8]? {
        let bytes = take()
        return bytes.isEmpty ? nil : bytes
    }

    private func take() -> [UInt8] {
        var taken: [UInt8] = []
        lock.withLock { swap(&taken, &bytes) }
        return taken
    }

    func skip(_ limit: inout Int) -> Bool {
        limit -= take().count
        return true
    }

    func recycle(_ chunk: inout [UInt8]) { chunk = [] }

    /// Does nothing, as the transfer has ended.
    func cancel() {}

    var hasEnded: Bool { true }
}
