#if Images
public import Curlew

/// A cache of decoded images in memory, which evicts the least recently used images.
///
/// The cache counts the bytes of pixels and names, plus 256 for each image, so that small images also count. Beyond
/// ``capacity`` it evicts images, least recently used first, until at most ``preferredUsage`` is left, as
/// AFNetworking's cache does. An image larger than the capacity is not kept.
///
/// ```swift
/// let cache = AutoPurgingImageCache()
/// await cache.add(image, for: "https://example.com/a.png", filter: "fit-64x64")
/// ```
public actor AutoPurgingImageCache {
    /// The maximum size of all images. 100 MiB by default.
    public nonisolated let capacity: ByteSize
    /// The maximum size that is left after a purge. 60 MiB by default.
    public nonisolated let preferredUsage: ByteSize
    /// The present size of all images.
    public private(set) var usage: ByteSize = 0
    /// The present number of images.
    public private(set) var count = 0

    private struct Entry {
        let image: Image
        /// The size of the image in bytes.
        let cost: Int
        /// The number of the last access, which serves as a clock: no two accesses have the same number.
        var access: UInt64
    }

    /// The images by identifier and filter.
    private var entries: [ExactText: [ExactText?: Entry]] = [:]
    private var accesses: UInt64 = 0
    /// The identifiers of images that filters are processing. A replaced or removed image is taken out.
    private(set) var filtersAtWork: [UInt64: String] = [:]
    private var watch: MemoryPressure.Watch?

    /// - Parameters:
    ///   - capacity: The maximum size of all images.
    ///   - preferredUsage: The maximum size that is left after a purge; at most the capacity.
    ///   - pressure: The memory pressure that empties the cache. None by default.
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

    /// Adds an image and replaces an existing one with the same names. When an original is replaced, its filtered
    /// images are removed, too.
    /// - Parameters:
    ///   - image: The image.
    ///   - identifier: The identifier of the image, usually its URL.
    ///   - filter: The identifier of the filter that was applied to the image.
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

    /// Records that a filter begins to process an image, before the image is read.
    /// - Returns: The number of this work, for ``endFilter(_:with:filter:)``.
    func beginFilter(on identifier: String) -> UInt64 {
        accesses += 1
        filtersAtWork[accesses] = identifier
        return accesses
    }

    /// Adds a filtered image, unless the original was replaced or removed since the filter began.
    /// - Parameter image: The filtered image; nil if the filter made none.
    func endFilter(_ work: UInt64, with image: Image?, filter: String) {
        guard let identifier = filtersAtWork.removeValue(forKey: work), let image else { return }
        add(image, for: identifier, filter: filter)
    }

    /// The size of an image with its names, in bytes.
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

    /// Returns an image and marks it as used now.
    public func image(for identifier: String, filter: String? = nil) -> Image? {
        let (identifier, filter) = (ExactText(identifier), filter.map { ExactText($0) })
        guard let entry = entries[identifier]?[filter] else { return nil }
        accesses += 1
        entries[identifier]?[filter]?.access = accesses
        return entry.image
    }

    /// Removes an image: with a filter, only that filtered image; without a filter, the original and all its filtered
    /// images.
    /// - Returns: True if any image was removed.
    @discardableResult
    public func remove(_ identifier: String, filter: String? = nil) -> Bool {
        guard filter == nil else { return drop(identifier, filter) }
        filtersAtWork = filtersAtWork.filter { !$0.value.hasSameBytes(as: identifier) }
        let filters = entries[ExactText(identifier)].map { Array($0.keys) } ?? []
        for filter in filters { drop(identifier, filter?.text) }
        return !filters.isEmpty
    }

    /// Removes all images, as under memory pressure.
    /// - Returns: True if any image was removed.
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
