#if Images
public import Curlew

/// A cache of decoded images in memory, which evicts those that nobody has asked for the longest.
///
/// It counts the bytes of the pixels and of the names, and 256 more for each image, so that a million small ones do not pass for nothing.
/// Beyond ``capacity`` it purges, by last access, down to ``preferredUsage``, as AFNetworking's does. An image larger than the capacity is not
/// kept.
///
/// ```swift
/// let cache = AutoPurgingImageCache()
/// await cache.add(image, for: "https://example.com/a.png", filter: "fit-64x64")
/// ```
public actor AutoPurgingImageCache {
    /// The most bytes that are kept. 100 MiB by default.
    public nonisolated let capacity: ByteSize
    /// The bytes that are left after a purge, at most. 60 MiB by default.
    public nonisolated let preferredUsage: ByteSize
    /// The bytes that are kept now.
    public private(set) var usage: ByteSize = 0
    /// The number of images that are kept now.
    public private(set) var count = 0

    private struct Entry {
        let image: Image
        /// The bytes that it takes.
        let cost: Int
        /// The number of the access, as a clock: two of them are never the same.
        var access: UInt64
    }

    /// By identifier, and there by filter.
    private var entries: [ExactText: [ExactText?: Entry]] = [:]
    private var accesses: UInt64 = 0
    /// The images that filters are working on. One that is replaced or removed is taken out.
    private(set) var filtersAtWork: [UInt64: String] = [:]
    private var watch: MemoryPressure.Watch?

    /// - Parameters:
    ///   - capacity: The most bytes that are kept.
    ///   - preferredUsage: The bytes that are left after a purge; no more than the capacity.
    ///   - pressure: The signs of a lack of memory that empty the cache. None by default.
    public init(
        capacity: ByteSize = .mebibytes(100), preferredUsage: ByteSize = .mebibytes(60), pressure: MemoryPressure? = nil
    ) {
        self.capacity = capacity
        self.preferredUsage = min(preferredUsage, capacity)
        guard let pressure else { return }
        Task { await self.follow(pressure) }
    }

    private func follow(_ pressure: MemoryPressure) {
        watch = pressure.watch { [weak self] in Task { await self?.removeAll() } }
    }

    /// Keeps an image; one that was kept under the same names is replaced. What filters have made of one that is replaced goes, too.
    /// - Parameters:
    ///   - image: The image.
    ///   - identifier: What it is asked for by, mostly its URL.
    ///   - filter: The identifier of the filter that it has gone through.
    public func add(_ image: Image, for identifier: String, filter: String? = nil) {
        remove(identifier, filter: filter)
        let cost = Self.cost(of: image, identifier, filter)
        guard cost <= capacity.bytes else { return }
        accesses += 1
        entries[ExactText(identifier), default: [:]][filter.map { ExactText($0) }] = Entry(
            image: image, cost: cost, access: accesses)
        usage.bytes += cost
        count += 1
        if usage > capacity { purge() }
    }

    /// Notes that a filter begins to work on an image, before the image is read.
    /// - Returns: What the end of the work is noted by.
    func beginFilter(on identifier: String) -> UInt64 {
        accesses += 1
        filtersAtWork[accesses] = identifier
        return accesses
    }

    /// Keeps what a filter has made of an image, unless that was replaced or removed since the filter began.
    /// - Parameter image: nil if it has made nothing.
    func endFilter(_ work: UInt64, with image: Image?, filter: String) {
        guard let identifier = filtersAtWork.removeValue(forKey: work), let image else { return }
        add(image, for: identifier, filter: filter)
    }

    /// The bytes that an image takes under its names.
    static func cost(of image: Image, _ identifier: String, _ filter: String? = nil) -> Int {
        image.byteCount + identifier.utf8.count + (filter?.utf8.count ?? 0) + 256
    }

    private func purge() {
        let all = entries.flatMap { identifier, filtered in
            filtered.map { (identifier: identifier, filter: $0.key, access: $0.value.access) }
        }
        for entry in all.sorted(by: { $0.access < $1.access }) {
            drop(entry.identifier.text, entry.filter?.text)
            if usage <= preferredUsage { return }
        }
    }

    /// An image that is kept. It counts as used now.
    public func image(for identifier: String, filter: String? = nil) -> Image? {
        let (identifier, filter) = (ExactText(identifier), filter.map { ExactText($0) })
        guard let entry = entries[identifier]?[filter] else { return nil }
        accesses += 1
        entries[identifier]?[filter]?.access = accesses
        return entry.image
    }

    /// Removes an image: what a filter has made of it, or, without one, all that is kept under its name.
    /// - Returns: Whether there was any.
    @discardableResult
    public func remove(_ identifier: String, filter: String? = nil) -> Bool {
        guard filter == nil else { return drop(identifier, filter) }
        filtersAtWork = filtersAtWork.filter { !$0.value.hasSameBytes(as: identifier) }
        let filters = entries[ExactText(identifier)].map { Array($0.keys) } ?? []
        for filter in filters { drop(identifier, filter?.text) }
        return !filters.isEmpty
    }

    /// Removes all images, as when memory is short.
    /// - Returns: Whether there were any.
    @discardableResult
    public func removeAll() -> Bool {
        defer {
            entries = [:]
            filtersAtWork = [:]
            usage = 0
            count = 0
        }
        return !entries.isEmpty
    }

    @discardableResult
    private func drop(_ identifier: String, _ filter: String?) -> Bool {
        let (identifier, filter) = (ExactText(identifier), filter.map { ExactText($0) })
        guard let entry = entries[identifier]?.removeValue(forKey: filter) else { return false }
        if entries[identifier]?.isEmpty == true { entries[identifier] = nil }
        usage.bytes -= entry.cost
        count -= 1
        return true
    }
}
#endif
