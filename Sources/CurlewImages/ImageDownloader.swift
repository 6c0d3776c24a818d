#if Images
public import Curlew
internal import FoundationEssentials

/// A downloader of images with at most four concurrent downloads by default. Equal requests share a download, and
/// decoded images are cached.
///
/// ```swift
/// let downloader = ImageDownloader(session: api)
/// for await phase in downloader.image("birds/7.jpg", filter: .resized(toFit: Image.Size(200, 200))) {
///     show(phase)
/// }
/// ```
///
/// Requests for the same absolute URL share one download, whatever their filters, and all receive its result.
/// Cancelling one request does not affect the others; cancelling the last request cancels the download. An image that
/// cannot be decoded is an error.
public actor ImageDownloader {
    /// The order in which waiting requests start.
    public enum Order: Sendable, Hashable {
        /// The oldest first. The default.
        case firstInFirstOut
        /// The newest first.
        case lastInFirstOut
    }

    /// A phase of a request for an image.
    public enum Phase: Sendable {
        /// The progress of the download has changed.
        case progress(TaskProgress)
        /// A preview of an unfinished download: a progressive JPEG at low quality, or the upper rows of a WebP with the
        /// rest transparent.
        ///
        /// Previews are made at 25, 50 and 75 percent of files of at least 64 KiB, in the final size and with the
        /// filter applied. A request that joins a download receives only later previews.
        case partial(Image)
        /// The image was in the cache. The last phase.
        case cached(Image)
        /// The image was downloaded. The last phase.
        case loaded(Image)
        /// The request failed or was cancelled. The last phase.
        case failed(CurlewError)

        /// The complete image; nil in other phases.
        public var image: Image? {
            switch self {
            case .cached(let image), .loaded(let image): image
            default: nil
            }
        }
    }

    /// The identity of a request, for ``ImageDownloader/cancel(_:)``.
    public struct Receipt: Sendable, Hashable, Identifiable {
        /// The identifier from the caller, or a new one.
        public let id: String
        /// The requested URL.
        public let url: String
        /// True after the request was cancelled or its phases lost their reader, which may happen before it begins. The
        /// object also gives each request its identity: two requests with the same id and URL differ.
        fileprivate let hasLeft = Guarded(false)

        public static func == (a: Receipt, b: Receipt) -> Bool { a.hasLeft === b.hasLeft }

        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(hasLeft)) }
    }

    /// The phases of one request; they can be read once. Leaving the sequence cancels the request. A slow reader
    /// receives only the newest four.
    public struct Phases: AsyncSequence, Sendable {
        /// The receipt, for cancelling the request from other code.
        public let receipt: Receipt
        fileprivate let stream: AsyncStream<Phase>

        public func makeAsyncIterator() -> AsyncStream<Phase>.Iterator { stream.makeAsyncIterator() }
    }

    /// The cache of decoded images; nil if there is none.
    public nonisolated let cache: AutoPurgingImageCache?
    /// The session for the downloads.
    public nonisolated let session: HTTPSession
    private let order: Order
    private let limit: Int
    private let options: Image.DecodingOptions
    private let isProgressive: Bool
    private var downloads: [String: Download] = [:]
    private var waiting: [String] = []
    private var active = 0

    /// - Parameters:
    ///   - session: The session for the downloads. A cache of files is a link of its chain.
    ///   - cache: The cache of decoded images: a new one of 100 MiB by default, or nil for no cache. Its keys are
    ///     absolute URLs. Decoding options other than the defaults (`fitting`, no animation) are appended, so that
    ///     downloaders with different options can share a cache.
    ///   - order: The order in which waiting requests start.
    ///   - maximumActive: The maximum number of concurrent downloads. 4 by default.
    ///   - options: The options of decoding.
    ///   - progressive: True, the default, adds previews (``Phase/partial(_:)``) to the phases. Each preview decodes
    ///     the image once more.
    public init(
        session: HTTPSession, cache: AutoPurgingImageCache? = AutoPurgingImageCache(), order: Order = .firstInFirstOut,
        maximumActive: Int = 4, options: Image.DecodingOptions = Image.DecodingOptions(), progressive: Bool = true
    ) {
        self.session = session
        self.cache = cache
        self.order = order
        limit = max(1, maximumActive)
        self.options = options
        isProgressive = progressive
    }

    /// A caller's request.
    struct Request {
        let receipt: Receipt
        let filter: ImageFilter?
        /// True if a caller reads the phases, not only the final image.
        let isShown: Bool
        let phases: AsyncStream<Phase>.Continuation

        /// True after the request was cancelled.
        var hasLeft: Bool { receipt.hasLeft.withLock { $0 } }
    }

    /// A download with its requests, in the order of their arrival.
    private struct Download {
        var requests: [Request]
        var task: Task<Void, Never>?
        /// True after the last request left, which cancelled the download.
        var isAbandoned = false
    }

    /// The number of current downloads.
    public var activeCount: Int { active }

    /// The number of waiting downloads.
    public var waitingCount: Int { waiting.count }

    /// The number of requests that wait for an image, for tests.
    var requestCount: Int { downloads.values.reduce(0) { $0 + $1.requests.count } }

    /// Requests an image. The last phase is the image or the error.
    /// - Parameters:
    ///   - url: The URL; a relative one is resolved against the session's base URL.
    ///   - filter: The filter to apply. The original and the filtered image are both cached.
    ///   - id: The identifier of the receipt; a new one by default.
    public nonisolated func image(_ url: String, filter: ImageFilter? = nil, id: String? = nil) -> Phases {
        let (request, phases) = request(url, filter, id: id, isShown: true)
        Task { await begin(request) }
        return phases
    }

    /// Makes a request without starting it.
    nonisolated func request(_ url: String, _ filter: ImageFilter? = nil, id: String? = nil, isShown: Bool) -> (
        Request, Phases
    ) {
        let receipt = Receipt(id: id ?? UUID().uuidString, url: url)
        // The last phase is always among the newest ones.
        let (stream, phases) = AsyncStream.makeStream(of: Phase.self, bufferingPolicy: .bufferingNewest(4))
        let request = Request(receipt: receipt, filter: filter, isShown: isShown, phases: phases)
        phases.onTermination = { [weak self] end in
            guard case .cancelled = end else { return }
            receipt.hasLeft.withLock { $0 = true }
            Task { await self?.cancel(receipt) }
        }
        return (request, Phases(receipt: receipt, stream: stream))
    }

    /// Returns an image from the cache or downloads it. Cancelling the task cancels the request.
    /// - Throws: ``Curlew/CurlewError``.
    public nonisolated func load(_ url: String, filter: ImageFilter? = nil) async throws -> Image {
        let (request, phases) = request(url, filter, isShown: false)
        Task { await begin(request) }
        for await phase in phases {
            switch phase {
            case .progress, .partial: continue
            case .cached(let image), .loaded(let image): return image
            case .failed(let error): throw error
            }
        }
        throw Self.cancelled(url)
    }

    private static func cancelled(_ url: String) -> CurlewError {
        // The description of a URI contains no password.
        let name = (try? CurlewURI(url))?.description ?? "a relative URL"
        return CurlewError(.cancelled, "the request for the image at \(name) was cancelled")
    }

    /// Downloads an image into the cache in advance.
    /// - Returns: The receipt that cancels the request.
    @discardableResult
    public func prefetch(_ url: String, filter: ImageFilter? = nil, id: String? = nil) async -> Receipt {
        let receipt = Receipt(id: id ?? UUID().uuidString, url: url)
        let (_, phases) = AsyncStream.makeStream(of: Phase.self, bufferingPolicy: .bufferingNewest(1))
        await begin(Request(receipt: receipt, filter: filter, isShown: false, phases: phases))
        return receipt
    }

    /// Cancels a request, which ends with ``Curlew/ErrorCode/cancelled``. The download continues for other requests and
    /// is cancelled with the last one. A request that has ended is not affected.
    public func cancel(_ receipt: Receipt) {
        receipt.hasLeft.withLock { $0 = true }
        guard let key = downloads.first(where: { $0.value.requests.contains { $0.receipt == receipt } })?.key,
            let index = downloads[key]?.requests.firstIndex(where: { $0.receipt == receipt }),
            let request = downloads[key]?.requests.remove(at: index)
        else { return }
        request.phases.yield(.failed(Self.cancelled(key)))
        request.phases.finish()
        guard downloads[key]?.requests.isEmpty == true else { return }
        if let place = waiting.firstIndex(of: key) {
            waiting.remove(at: place)
            downloads[key] = nil
        } else {
            // The slot is released when the download has ended, so that the limit is never exceeded.
            downloads[key]?.isAbandoned = true
            downloads[key]?.task?.cancel()
        }
    }

    /// Begins a request, unless it is already cancelled.
    func begin(_ request: Request) async {
        let uri: CurlewURI
        do {
            uri = try session.resolve(.raw(request.receipt.url))
        } catch {
            return fail(request, error)
        }
        let key = uri.description
        guard !request.hasLeft else { return fail(request, Self.cancelled(key)) }
        // A request that joins a download ignores the cache, because the download is newer.
        if downloads[key]?.requests.isEmpty == false {
            downloads[key]?.requests.append(request)
            return
        }
        do {
            let image = try await cached(key, request.filter)
            guard !request.hasLeft else { return fail(request, Self.cancelled(key)) }
            if let image {
                request.phases.yield(.cached(image))
                return request.phases.finish()
            }
        } catch {
            return fail(request, error)
        }
        // Other requests may have arrived while the cache was queried.
        if downloads[key] == nil {
            downloads[key] = Download(requests: [])
            waiting.append(key)
        }
        downloads[key]?.requests.append(request)
        startNext()
    }

    private func cached(_ key: String, _ filter: ImageFilter?) async throws -> Image? {
        guard let cache else { return nil }
        let key = cacheKey(key)
        if let image = await cache.image(for: key, filter: filter?.identifier) { return image }
        guard let filter else { return nil }
        return try await Self.filtered(filter, key, cache) { await cache.image(for: key) }
    }

    /// The cache key of an image: its URL, and after a space, which no URL contains, its decoding options other than
    /// the defaults.
    private func cacheKey(_ key: String) -> String {
        var key = key
        if let size = options.fitting { key += " fit-\(size.width)x\(size.height)" }
        return options.decodesAnimation ? key : key + " still"
    }

    private func fail(_ request: Request, _ error: any Error) {
        let error =
            error as? CurlewError
            ?? CurlewError(.decodingFailed, "the filter of an image failed: \(error)", underlying: error)
        request.phases.yield(.failed(error))
        request.phases.finish()
    }

    private func startNext() {
        while active < limit, !waiting.isEmpty {
            let key = order == .firstInFirstOut ? waiting.removeFirst() : waiting.removeLast()
            active += 1
            // The download also serves other callers than the one whose task starts it.
            downloads[key]?.task = CallScope.outside { Task { await self.run(key) } }
        }
    }

    private func run(_ key: String) async {
        let result = await fetch(key)
        active -= 1
        let download = downloads.removeValue(forKey: key)
        // Requests that arrived after the last one had left need a new download.
        if case .failure = result, download?.isAbandoned == true, let requests = download?.requests, !requests.isEmpty {
            downloads[key] = Download(requests: requests)
            waiting.append(key)
            return startNext()
        }
        startNext()
        // Each filter is applied once for all requests with it.
        var made: [String: Image] = [:]
        for request in download?.requests ?? [] { await finish(request, key, result, &made) }
    }

    private func fetch(_ key: String) async -> Result<Image, CurlewError> {
        let followers = Followers()
        defer { followers.end() }
        let requestOptions = RequestOptions().setting(\.onTask) { [weak self] task in
            followers.follow(
                Task { for await step in task.progress { await self?.report(step, of: key) } })
        }
        do {
            let serializer = ImageResponseSerializer(options: options)
            let image =
                if isProgressive {
                    try await session.get(
                        .raw(key), as: WatchedImageSerializer(serializer) { await self.show($0, of: key) },
                        options: requestOptions)
                } else {
                    try await session.get(.raw(key), as: serializer, options: requestOptions)
                }
            await cache?.add(image, for: cacheKey(key))
            return .success(image)
        } catch {
            return .failure(
                error as? CurlewError
                    ?? CurlewError(.decodingFailed, "the download of an image failed", underlying: error))
        }
    }

    private func report(_ progress: TaskProgress, of key: String) {
        guard !progress.isFinished else { return }
        for request in downloads[key]?.requests ?? [] { request.phases.yield(.progress(progress)) }
    }

    /// Sends previews of an unfinished image to the requests that show phases.
    private func show(_ beginning: [UInt8], of key: String) async {
        guard downloads[key]?.requests.contains(where: \.isShown) == true else { return }
        // Errors in the beginning are ignored: the final decoding reports them.
        let decoded = try? await onGlobalExecutor { [options] in try Image.beginning(of: beginning, options: options) }
        guard let image = decoded ?? nil else { return }
        for request in downloads[key]?.requests ?? [] where request.isShown {
            var shown: Image? = image
            if let filter = request.filter { shown = try? await onGlobalExecutor { try filter.apply(to: image) } }
            if let shown { request.phases.yield(.partial(shown)) }
        }
    }

    private func finish(
        _ request: Request, _ key: String, _ result: Result<Image, CurlewError>, _ made: inout [String: Image]
    ) async {
        do {
            var image = try result.get()
            if let filter = request.filter {
                if let known = made[filter.identifier] {
                    image = known
                } else {
                    image = try await Self.filtered(filter, cacheKey(key), cache) { [image] in image } ?? image
                }
                made[filter.identifier] = image
            }
            request.phases.yield(.loaded(image))
            request.phases.finish()
        } catch {
            fail(request, error)
        }
    }

    /// Applies a filter outside of this actor.
    /// - Parameter plain: Returns the unfiltered image; nil if there is none.
    private static func filtered(
        _ filter: ImageFilter, _ key: String, _ cache: AutoPurgingImageCache?, _ plain: () async -> Image?
    ) async throws -> Image? {
        let work = await cache?.beginFilter(on: key)
        let made: Result<Image?, any Error>
        do {
            let image = await plain()
            made = .success(try await onGlobalExecutor { try image.map { try filter.apply(to: $0) } })
        } catch {
            made = .failure(error)
        }
        if let work { await cache?.endFilter(work, with: try? made.get(), filter: filter.identifier) }
        return try made.get()
    }
}

/// The tasks that observe the tasks of one call.
private final class Followers: Sendable {
    private let tasks = Guarded<[Task<Void, Never>]>([])

    func follow(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    func end() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
#endif
