#if Storage
public import Curlew
internal import CurlewPlatform

/// A ``Curlew/HTTPCache/Store`` on a disk; it needs the package's trait `Storage`, which is off by default, and SQLite.
///
/// Several stores, also of several processes, may open the same folder: each sees the commits of the others at once.
/// All of them must belong to one user. The folder and its files are accessible only to their owner (0700 for the
/// folder). If other users may access the folder, their access is removed if the folder is empty or a store; otherwise
/// the folder is refused.
///
/// An entry is visible only when it is complete. If a process is killed, its uncommitted data is removed when the
/// folder is next opened. After a failure of the operating system the last entries may be missing. Each body in a file
/// is compared with its checksum when it is first used afterwards. A damaged entry is discarded and reported as an
/// ``Event``.
///
/// - The index and bodies of up to ``inlineLimit`` are in a database (SQLite with a write-ahead log), larger bodies in
///   separate files.
/// - No call blocks the caller's thread. A call that finds the database locked by others fails within about 250 ms.
/// - The least recently used entries are evicted when a new entry needs space. The times of use are written
///   periodically: a killed process loses those of the last minute, and other stores see them with the same delay.
///
/// ```swift
/// let store = try await DiskCacheStore(folder: "/var/cache/example/http", capacity: .mebibytes(512))
/// ```
public final class DiskCacheStore: HTTPCache.Store {
    /// The size of the largest body in the database: 8 KiB. Up to this size a read is as fast as from a file, and a
    /// write is twice as fast.
    public static let inlineLimit: ByteSize = .kibibytes(8)

    /// The folder, as given to the initializer.
    public let folder: String
    private let core: StoreCore

    /// Opens a store, and makes it and its folder if they do not exist.
    ///
    /// Entries beyond the limits are evicted now, and the leftovers of killed processes are removed. That takes a few
    /// milliseconds for a thousand entries.
    /// - Parameters:
    ///   - folder: The folder. It must have no other use.
    ///   - capacity: The maximum size of all entries, bodies and fields.
    ///   - entryLimit: The maximum size of one body; nil means a twentieth of the capacity.
    ///   - ageLimit: The time after which an unused entry is evicted; nil means no limit.
    ///   - variantLimit: The maximum number of entries under one key. The least recently used ones are evicted.
    ///   - onEvent: Called, on any thread, for each incident. It must not block.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed`` if the folder cannot be used, or with
    ///   ``Curlew/ErrorCode/diskFull``.
    public convenience init(
        folder: String, capacity: ByteSize = .mebibytes(256), entryLimit: ByteSize? = nil, ageLimit: Duration? = nil,
        variantLimit: Int = 32, onEvent: (@Sendable (Event) -> Void)? = nil
    ) async throws {
        try await self.init(
            folder: folder, capacity: capacity, entryLimit: entryLimit, ageLimit: ageLimit, variantLimit: variantLimit,
            now: Self.systemTime, onEvent: onEvent)
    }

    /// - Parameters:
    ///   - patience: The maximum time that a call waits for the index; nil for the default.
    ///   - now: The time in microseconds since 1970.
    package init(
        folder: String, capacity: ByteSize, entryLimit: ByteSize? = nil, ageLimit: Duration? = nil,
        variantLimit: Int = 32, patience: Duration? = nil,
        now: @escaping @Sendable () -> Int64, onEvent: (@Sendable (Event) -> Void)? = nil
    ) async throws {
        self.folder = folder
        let limits = StoreCore.Limits(
            capacity: max(0, capacity.bytes), entry: max(0, entryLimit?.bytes ?? capacity.bytes / 20),
            variants: max(1, variantLimit), age: ageLimit.map { max(0, $0.nanosecondsClamped / 1000) },
            patience: patience ?? CacheIndex.patience)
        core = try await StoreCore(folder: folder, limits: limits, now: now, onEvent: onEvent)
    }

    package static let systemTime: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The maximum size of all entries.
    public var capacity: ByteSize { ByteSize(core.limits.capacity) }

    public var entryLimit: ByteSize { ByteSize(core.limits.entry) }

    /// Writes pending times of use, and closes the database. Later calls fail.
    ///
    /// The deinitialization of a store does the same in the background.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed`` or ``Curlew/ErrorCode/diskFull``.
    public func close() async throws { try await core.close() }

    public func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry] {
        try await core.entries(for: key)
    }

    public func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body? {
        try await core.body(of: entry, range: range)
    }

    public func write(_ entry: HTTPCache.Entry) async throws -> any HTTPCache.Writer {
        guard entry.bodySize <= Int64(core.limits.entry) else { throw core.tooLarge }
        return DiskCacheWriter(entry.id, core: core)
    }

    public func update(_ entry: HTTPCache.Entry) async throws -> Bool { try await core.update(entry) }

    public func remove(_ selection: HTTPCache.Selection) async throws { try await core.remove(selection) }

    public func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry] {
        try await core.list(after: id, count: count)
    }

    /// The entries and bytes of all processes, and the evictions of this store alone.
    public var contents: HTTPCache.Contents { get async throws { try await core.contents } }
}
#endif
