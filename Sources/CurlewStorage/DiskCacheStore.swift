#if Storage
public import Curlew
internal import Glibc

/// A ``Curlew/HTTPCache/Store`` on a disk; needs the package's trait `Storage`, which is off by default, and SQLite.
///
/// Several stores, also of several processes, may have one folder open: each finds at once what another has committed. All
/// that access it belong to one user: the folder is for its owner alone (0700), and so are its files. A folder that others may
/// use is closed to them if it is empty or a store, and refused if it has anything else.
///
/// An entry is found when all of it is there. A process may be killed at any moment: what it had not committed is removed when
/// the folder is next opened. After a failure of the operating system the last entries may be missing, and each body that is a
/// file is compared with its checksum when it is first used. What proves to be damaged is discarded, and reported as an ``Event``.
///
/// - The index and bodies of up to ``inlineLimit`` are in a database (SQLite with a write-ahead log), larger bodies in files
///   beside it.
/// - No call blocks the caller's thread. One that finds the database locked by others fails within about 250 ms.
/// - The bytes that were not used for longest are evicted when a new entry needs the room. The times of use are written
///   now and then: a process that is killed forgets those of the last minute, and others do not see them before.
///
/// ```swift
/// let store = try await DiskCacheStore(folder: "/var/cache/example/http", capacity: .mebibytes(512))
/// ```
public final class DiskCacheStore: HTTPCache.Store {
    /// The largest body that is kept in the database: 8 KiB. Up to there it is read as fast as a file is, and written twice as fast.
    public static let inlineLimit: ByteSize = .kibibytes(8)

    /// The folder, as it was opened.
    public let folder: String
    private let core: StoreCore

    /// Opens a store; makes it, and its folder, if it is not there.
    ///
    /// What is too much or too old is evicted now, and what killed processes have left is removed. That takes a few milliseconds
    /// for a thousand entries.
    /// - Parameters:
    ///   - folder: The folder. It must be for nothing else.
    ///   - capacity: The most bytes that entries may take, bodies and fields.
    ///   - entryLimit: The most bytes of one body; nil stands for a twentieth of the capacity.
    ///   - ageLimit: The time after which an entry that was not used is evicted; nil stands for no limit.
    ///   - variantLimit: The most entries under one key. Those that were not used for longest are evicted.
    ///   - onEvent: Called, on any thread, for each incident. It must not block.
    /// - Throws: ``Curlew/CurlewError``: ``Curlew/ErrorCode/cacheFailed`` if the folder cannot be used, ``Curlew/ErrorCode/diskFull``.
    public convenience init(
        folder: String, capacity: ByteSize = .mebibytes(256), entryLimit: ByteSize? = nil, ageLimit: Duration? = nil,
        variantLimit: Int = 32, onEvent: (@Sendable (Event) -> Void)? = nil
    ) async throws {
        try await self.init(
            folder: folder, capacity: capacity, entryLimit: entryLimit, ageLimit: ageLimit, variantLimit: variantLimit,
            now: Self.systemTime, onEvent: onEvent)
    }

    /// - Parameters:
    ///   - patience: The longest that a call waits for the index; nil for the usual time.
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

    /// The most bytes that entries may take.
    public var capacity: ByteSize { ByteSize(core.limits.capacity) }

    public var entryLimit: ByteSize { ByteSize(core.limits.entry) }

    /// Writes down what was used, and closes the database. Calls fail from then on.
    ///
    /// A store that is dropped does the same by itself, in its own time.
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
