#if Images
public import Curlew
internal import FoundationEssentials

/// Downloads pictures: at most four at a time, equal requests once, through a cache of decoded pictures.
///
/// ```swift
/// let downloader = ImageDownloader(session: api)
/// for await phase in downloader.image("birds/7.jpg", filter: .resized(toFit: Image.Size(200, 200))) {
///     show(phase)
/// }
/// ```
///
/// Requests for the same absolute URL are one download, whatever their filters, and its end is everybody's. Whoever cancels leaves it to the
/// others; it ends when nobody is left. A picture that cannot be decoded is an error.
public actor ImageDownloader {
    /// The order in which requests that wait have their turn.
    public enum Order: Sendable, Hashable {
        /// The oldest first. The default.
        case firstInFirstOut
        /// The newest first.
        case lastInFirstOut
    }

    /// What is known of a picture that is awaited.
    public enum Phase: Sendable {
        /// The download goes on.
        case progress(TaskProgress)
        /// What has come of the picture: all of a progressive JPEG, coarsely, or the upper rows of a WebP above transparent ones. It comes at a
        /// quarter, half and three quarters of a file of 64 KiB and more, in the size of the whole and through the filter.
        case partial(Image)
        /// The picture was in the cache. It is the last phase.
        case cached(Image)
        /// The picture has come. It is the last phase.
        case loaded(Image)
        /// It cannot be had. It is the last phase.
        case failed(CurlewError)

        /// The whole picture, if it is there.
        public var image: Image? {
            switch self {
            case .cached(let image), .loaded(let image): image
            default: nil
            }
        }
    }

    /// A request for a picture, by which it can be cancelled.
    public struct Receipt: Sendable, Hashable, Identifiable {
        /// Of this request alone.
        public let id: String
        /// The URL that is asked for.
        public let url: String
        /// Two requests of one id and URL are two.
        private let token = UUID().uuidString
    }

    /// The cache; nil if there is none.
    public nonisolated let cache: AutoPurgingImageCache?
    /// The client that downloads.
    public nonisolated let session: HTTPSession
    private let order: Order
    private let limit: Int
    private let options: Image.DecodingOptions
    private let isProgressive: Bool
    private var downloads: [String: Download] = [:]
    private var waiting: [String] = []
    private var active = 0

    /// - Parameters:
    ///   - session: The client. Its chain has what it needs, such as a cache for files and redirects.
    ///   - cache: The cache for decoded pictures: one of 100 MiB by default; nil keeps none. Pictures are kept under their absolute URL, and,
    ///     where they are made to fit or do not move, a name of that behind a space, so that downloaders can share one.
    ///   - order: The order in which requests that wait have their turn.
    ///   - maximumActive: The most downloads at a time. 4 by default.
    ///   - options: How pictures are decoded.
    ///   - progressive: Whether the phases show what has come of a picture. It is decoded as often more. True by default.
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

    /// One request of somebody's.
    private struct Request {
        let receipt: Receipt
        let filter: ImageFilter?
        /// True if the phases are shown to somebody, and not only the picture that they end with.
        let isShown: Bool
        let phases: AsyncStream<Phase>.Continuation
        /// True once nobody listens any more, which may be before the request has begun.
        let hasLeft = Guarded(false)
    }

    /// One download, and who waits for it, in the order in which they came.
    private struct Download {
        var requests: [Request]
        var task: Task<Void, Never>?
        /// True once the last request had left, and it was cancelled for that.
        var isAbandoned = false
    }

    /// The number of downloads that are under way.
    public var activeCount: Int { active }

    /// The number of downloads that wait for their turn.
    public var waitingCount: Int { waiting.count }

    /// The number of requests that wait for a picture, for tests.
    var requestCount: Int { downloads.values.reduce(0) { $0 + $1.requests.count } }

    /// The phases of a picture's download, the last of which is the picture or the error. Leaving the sequence cancels the request. A reader that
    /// is behind gets the newest four.
    /// - Parameters:
    ///   - url: The URL, relative ones against the session's base.
    ///   - filter: What is done to the picture. It is cached as it is afterwards, and as it was.
    ///   - id: The identifier of the receipt; a new one by default.
    public nonisolated func image(
        _ url: String, filter: ImageFilter? = nil, id: String? = nil
    ) -> AsyncStream<Phase> {
        phases(of: Receipt(id: id ?? UUID().uuidString, url: url), filter, isShown: true)
    }

    private nonisolated func phases(of receipt: Receipt, _ filter: ImageFilter?, isShown: Bool) -> AsyncStream<Phase> {
        // The last phase is always among the newest.
        let (stream, phases) = AsyncStream.makeStream(of: Phase.self, bufferingPolicy: .bufferingNewest(4))
        let request = Request(receipt: receipt, filter: filter, isShown: isShown, phases: phases)
        phases.onTermination = { [weak self] end in
            guard case .cancelled = end else { return }
            request.hasLeft.withLock { $0 = true }
            Task { await self?.cancel(receipt) }
        }
        Task { await self.begin(request) }
        return stream
    }

    /// Downloads a picture, or takes it from the cache. Cancelling the task cancels the request.
    /// - Throws: ``Curlew/CurlewError``.
    public nonisolated func load(_ url: String, filter: ImageFilter? = nil) async throws -> Image {
        for await phase in phases(of: Receipt(id: UUID().uuidString, url: url), filter, isShown: false) {
            switch phase {
            case .progress, .partial: continue
            case .cached(let image), .loaded(let image): return image
            case .failed(let error): throw error
            }
        }
        throw CurlewError(.cancelled, "the download of a picture was cancelled")
    }

    /// Asks for a picture, and calls nobody until it is there: for a picture that will be wanted.
    /// - Returns: What it can be cancelled by.
    @discardableResult
    public func prefetch(_ url: String, filter: ImageFilter? = nil, id: String? = nil) async -> Receipt {
        let receipt = Receipt(id: id ?? UUID().uuidString, url: url)
        let (_, phases) = AsyncStream.makeStream(of: Phase.self, bufferingPolicy: .bufferingNewest(1))
        await begin(Request(receipt: receipt, filter: filter, isShown: false, phases: phases))
        return receipt
    }

    /// Cancels a request: its part ends with ``Curlew/ErrorCode/cancelled``. The download goes on for the others, and ends with the last. What
    /// has ended is left alone.
    public func cancel(_ receipt: Receipt) {
        guard let key = downloads.first(where: { $0.value.requests.contains { $0.receipt == receipt } })?.key,
            let index = downloads[key]?.requests.firstIndex(where: { $0.receipt == receipt }),
            let request = downloads[key]?.requests.remove(at: index)
        else { return }
        request.phases.yield(.failed(CurlewError(.cancelled, "the download of a picture was cancelled")))
        request.phases.finish()
        guard downloads[key]?.requests.isEmpty == true else { return }
        if let place = waiting.firstIndex(of: key) {
            waiting.remove(at: place)
            downloads[key] = nil
        } else {
            // Its place is free when it has ended, not before: there are never more than allowed.
            downloads[key]?.isAbandoned = true
            downloads[key]?.task?.cancel()
        }
    }

    private func begin(_ request: Request) async {
        let uri: CurlewURI
        do {
            uri = try session.resolve(.raw(request.receipt.url))
        } catch {
            return fail(request, error)
        }
        let key = uri.description
        // Whoever joins a download does not ask the cache, as the download is newer.
        if downloads[key]?.requests.isEmpty == false { return join(request, key) }
        do {
            if let image = try await cached(key, request.filter) {
                request.phases.yield(.cached(image))
                return request.phases.finish()
            }
        } catch {
            return fail(request, error)
        }
        // Others may have come while the cache was asked.
        if downloads[key] == nil {
            downloads[key] = Download(requests: [])
            waiting.append(key)
        }
        join(request, key)
        startNext()
    }

    private func join(_ request: Request, _ key: String) {
        downloads[key]?.requests.append(request)
        if request.hasLeft.withLock({ $0 }) { cancel(request.receipt) }
    }

    private func cached(_ key: String, _ filter: ImageFilter?) async throws -> Image? {
        guard let cache else { return nil }
        let key = cacheKey(key)
        if let image = await cache.image(for: key, filter: filter?.identifier) { return image }
        guard let filter, let plain = await cache.image(for: key) else { return nil }
        return try await Self.filtered(plain, filter, key, cache)
    }

    /// What a picture is kept under: its URL, and behind a space, which no URL has, how it was decoded, if not as by default.
    private func cacheKey(_ key: String) -> String {
        var key = key
        if let size = options.fitting { key += " fit-\(size.width)x\(size.height)" }
        return options.decodesAnimation ? key : key + " still"
    }

    private func fail(_ request: Request, _ error: any Error) {
        let error =
            error as? CurlewError
            ?? CurlewError(.decodingFailed, "the filter of a picture failed: \(error)", underlying: error)
        request.phases.yield(.failed(error))
        request.phases.finish()
    }

    private func startNext() {
        while active < limit, !waiting.isEmpty {
            let key = order == .firstInFirstOut ? waiting.removeFirst() : waiting.removeLast()
            active += 1
            downloads[key]?.task = Task { await self.run(key) }
        }
    }

    private func run(_ key: String) async {
        let result = await fetch(key)
        active -= 1
        let download = downloads.removeValue(forKey: key)
        // Whoever came after the last had left wants it anew.
        if case .failure = result, download?.isAbandoned == true, let requests = download?.requests, !requests.isEmpty {
            downloads[key] = Download(requests: requests)
            waiting.append(key)
            return startNext()
        }
        startNext()
        for request in download?.requests ?? [] { await finish(request, key, result) }
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
                    ?? CurlewError(.decodingFailed, "the download of a picture failed", underlying: error))
        }
    }

    private func report(_ progress: TaskProgress, of key: String) {
        guard !progress.isFinished else { return }
        for request in downloads[key]?.requests ?? [] { request.phases.yield(.progress(progress)) }
    }

    /// Shows what has come of a picture to those who look on.
    private func show(_ beginning: [UInt8], of key: String) async {
        guard downloads[key]?.requests.contains(where: \.isShown) == true else { return }
        // What is wrong with it is said at the end.
        guard let image = try? await Self.decodedBeginning(beginning, options) else { return }
        for request in downloads[key]?.requests ?? [] where request.isShown {
            var shown: Image? = image
            if let filter = request.filter { shown = try? await Self.filtered(image, filter) }
            if let shown { request.phases.yield(.partial(shown)) }
        }
    }

    @concurrent
    private static func decodedBeginning(_ bytes: [UInt8], _ options: Image.DecodingOptions) async throws -> Image? {
        try Image.beginning(of: bytes, options: options)
    }

    @concurrent
    private static func filtered(_ image: Image, _ filter: ImageFilter) async throws -> Image {
        try filter.apply(to: image)
    }

    private func finish(_ request: Request, _ key: String, _ result: Result<Image, CurlewError>) async {
        do {
            var image = try result.get()
            if let filter = request.filter { image = try await Self.filtered(image, filter, cacheKey(key), cache) }
            request.phases.yield(.loaded(image))
            request.phases.finish()
        } catch {
            fail(request, error)
        }
    }

    /// Filters take their time, and no turn of this actor.
    @concurrent
    private static func filtered(
        _ image: Image, _ filter: ImageFilter, _ key: String, _ cache: AutoPurgingImageCache?
    ) async throws -> Image {
        if let image = await cache?.image(for: key, filter: filter.identifier) { return image }
        let made = try filter.apply(to: image)
        await cache?.add(made, for: key, filter: filter.identifier)
        return made
    }
}

/// Tasks that follow the tasks of one call.
private final class Followers: Sendable {
    private let tasks = Guarded<[Task<Void, Never>]>([])

    func follow(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    func end() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
#endif
