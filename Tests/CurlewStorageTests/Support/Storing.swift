#if Storage
import Curlew
import CurlewStorage
import HTTPTypes
import SeededNumbers
import Synchronization

/// An entry under `http://example.com/NAME` with a unique name.
func makeEntry(
    _ name: String = "a", partition: String? = nil, size: Int = -1, responseTime: Int64 = 1_000,
    fields: HTTPFields = [:]
) throws -> HTTPCache.Entry {
    var numbers = SystemRandomNumberGenerator()
    let digits = (0..<32).map { _ in "0123456789abcdef".randomElement(using: &numbers) ?? "0" }
    guard let id = HTTPCache.Entry.ID(String(digits)) else { throw CurlewError(.cacheFailed, "no name") }
    let uri = "http://example.com/\(name)"
    return HTTPCache.Entry(
        id: id, key: .init(uri: uri, partition: partition), uri: uri,
        head: HTTPResponse(status: .ok, headerFields: fields), requestTime: responseTime - 1,
        responseTime: responseTime,
        bodySize: Int64(size))
}

/// Bytes that depend only on the text.
func pattern(_ text: String, count: Int) -> [UInt8] {
    var seed: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { seed = (seed ^ UInt64(byte)) &* 0x100_0000_01B3 }
    var numbers = SeededNumbers(seed: seed)
    return [UInt8](unsafeUninitializedCapacity: count) { space, filled in
        var index = 0
        while index < count {
            withUnsafeBytes(of: numbers.next()) { word in
                for byte in word.prefix(count - index) {
                    space.initializeElement(at: index, to: byte)
                    index += 1
                }
            }
        }
        filled = count
    }
}

extension HTTPCache.Store {
    /// Stores a body in pieces.
    @discardableResult
    func store(
        _ entry: HTTPCache.Entry, _ bytes: [UInt8], pieces: Int = 1, replacing: [HTTPCache.Entry.ID] = []
    ) async throws -> HTTPCache.Entry {
        let writer = try await write(entry)
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try await writer.append(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        let entry = entry.updating(bodySize: Int64(bytes.count))
        try await writer.commit(entry, replacing: replacing)
        return entry
    }

    /// The complete body of an entry; nil if it is missing.
    func bytes(of entry: HTTPCache.Entry, range: Range<Int64>? = nil) async throws -> [UInt8]? {
        try await body(of: entry, range: range ?? 0..<entry.bodySize)?.collect(upTo: .mebibytes(64))
    }

    func entries(_ name: String) async throws -> [HTTPCache.Entry] {
        try await entries(for: .init(uri: "http://example.com/\(name)"))
    }
}

/// The reports of a store.
final class Reports: Sendable {
    private let all = Guarded<[DiskCacheStore.Event]>([])

    func add(_ event: DiskCacheStore.Event) { all.withLock { $0.append(event) } }

    var kinds: [DiskCacheStore.Event.Kind] { all.withLock { $0.map(\.kind) } }

    var messages: [String] { all.withLock { $0.map(\.message) } }

    func makeStore(
        _ folder: String, capacity: ByteSize = .mebibytes(64), patience: Duration? = nil
    ) async throws -> DiskCacheStore {
        try await DiskCacheStore(
            folder: folder, capacity: capacity, entryLimit: .mebibytes(8), patience: patience,
            now: DiskCacheStore.systemTime, onEvent: add)
    }
}

/// A clock that a test sets; each reading advances it by a microsecond.
final class SteppingClock: Sendable {
    private let time = Atomic<Int64>(1_000_000_000)

    var now: @Sendable () -> Int64 {
        { self.time.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    func advance(by seconds: Int64) { time.wrappingAdd(seconds * 1_000_000, ordering: .relaxed) }
}

func curlewError(_ work: () async throws -> Void) async -> CurlewError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? CurlewError
    }
}
#endif
