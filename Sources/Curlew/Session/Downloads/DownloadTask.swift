/// A download into a file: several requests, if it takes as many, and one file in the end.
///
/// A task starts suspended. ``resume()`` and ``suspend()`` may be called at any moment, from any thread, any
/// number of times; they stop and restart the bytes of whatever attempt is under way, or begins. Nobody has to hold a task
/// that runs.
///
/// The bytes go to a part file beside the destination, and that gets its name when all of them are there and are what
/// ``DownloadTask/Options/integrity`` wants. Until then there is nothing at the destination. The attempts are among the session's
/// tasks (``SessionActor/tasks(_:)``) as those of kind ``TaskActor/Kind/download``.
///
/// ```swift
/// let task = try api.downloadTask("disc.iso", to: .folder("/tmp"))
/// task.resume()
/// for await progress in task.progress { print(progress.received.fraction ?? 0) }
/// let file = try await task.file()
/// ```
public final class DownloadTask: Sendable {
    /// The request of the whole. Its attempts add the fields for their ranges.
    public let request: CurlewRequest
    /// The options of the download.
    public let options: DownloadTask.Options

    private enum Phase {
        /// It has what starts it, and with it the session.
        case waiting(@Sendable (DownloadProgressSource) -> DownloadOperation)
        case running(Task<Void, Never>)
        case ended(Result<DownloadedFile, CurlewError>)
    }

    private struct State {
        var phase: Phase
        var waiters: [CheckedContinuation<Result<DownloadedFile, CurlewError>, Never>] = []
    }

    private let token: ResumeToken?
    private let attempts: SuspensionGroup
    private let source: DownloadProgressSource
    private let phases: Guarded<State>

    init(
        session: HTTPSession, request: CurlewRequest, destination: Destination, options: DownloadTask.Options,
        token: ResumeToken?
    ) {
        let attempts = SuspensionGroup()
        var request = request
        request.options.suspensionGroup = attempts
        self.attempts = attempts
        self.request = request
        self.options = options
        self.token = token
        let interval = session.session?.configuration.progressInterval ?? SessionConfiguration().progressInterval
        source = DownloadProgressSource(interval: interval)
        let start: @Sendable (DownloadProgressSource) -> DownloadOperation = { [request] progress in
            DownloadOperation(
                session: session, request: request, destination: destination, options: options, token: token,
                progress: progress)
        }
        phases = Guarded(State(phase: .waiting(start)))
    }

    // MARK: Steering

    /// Starts the download, or lets its bytes flow again.
    public func resume() {
        phases.withLock { state in
            attempts.resume()
            guard case .waiting(let start) = state.phase else { return }
            let operation = start(source)
            state.phase = .running(
                Task {
                    do throws(CurlewError) {
                        self.end(.success(try await operation.run()))
                    } catch {
                        self.end(.failure(error))
                    }
                })
        }
    }

    /// Stops the bytes until ``resume()``. Meanwhile the idle timeout does not run; the total does. A wait before the next
    /// attempt (``DownloadTask/Options/retries``) runs on, and the request after it waits.
    public func suspend() { phases.withLock { _ in attempts.suspend() } }

    /// Ends the download with ``ErrorCode/cancelled``, unless it has ended, and waits until it has.
    /// - Returns: The token that it can be resumed with; nil if nothing can be kept, and if it had ended.
    @discardableResult
    public func cancel() async -> ResumeToken? {
        beginCancelling()
        if case .failure(let error) = await outcome() { return error.resumeToken }
        return nil
    }

    private func beginCancelling() {
        let hasNotBegun = phases.withLock { state in
            if case .running(let work) = state.phase { work.cancel() }
            if case .waiting = state.phase { return true }
            return false
        }
        guard hasNotBegun else { return }
        let context = CurlewError.Context(method: request.method, uri: request.uri, resumeToken: token)
        let error = CurlewError(.cancelled, "the download was cancelled before it began", context: context)
        // Unless it begins at this moment.
        if !end(.failure(error), ifWaiting: true) { beginCancelling() }
    }

    // MARK: Looking

    /// The state of the download.
    public var state: TaskActor.State {
        phases.withLock { state in
            switch state.phase {
            case .waiting: .suspended
            case .running: attempts.isHeld ? .suspended : .running
            case .ended(.success): .completed
            case .ended(.failure(let error)): error.code == .cancelled ? .cancelled : .failed
            }
        }
    }

    /// The progress of the download, all attempts together: the newest value whenever it is asked for, and one last element
    /// when it has ended, however it did.
    public var progress: DownloadTask.Progress { DownloadTask.Progress(source: source) }

    /// The progress of the download at this moment.
    public var currentProgress: TaskProgress { source.latest }

    /// Waits for the file. It does not start the download. Cancelling the waiting task cancels the download.
    /// - Throws: ``CurlewError``; ``CurlewError/resumeToken`` is what the download can be resumed with. Of a status other than
    ///   2xx nothing gets to the disk: it is ``ErrorCode/unacceptableStatus``, and ``CurlewError/bodyPrefix`` has what the server
    ///   said to it.
    public func file() async throws -> DownloadedFile {
        try await withTaskCancellationHandler {
            await outcome()
        } onCancel: {
            beginCancelling()
        }.get()
    }

    private func outcome() async -> Result<DownloadedFile, CurlewError> {
        await withCheckedContinuation { waiter in
            let ended: Result<DownloadedFile, CurlewError>? = phases.withLock { state in
                if case .ended(let result) = state.phase { return result }
                state.waiters.append(waiter)
                return nil
            }
            if let ended { waiter.resume(returning: ended) }
        }
    }

    /// Ends the download once.
    /// - Returns: False if it was to end only before it begins, and has begun.
    @discardableResult
    private func end(_ result: Result<DownloadedFile, CurlewError>, ifWaiting: Bool = false) -> Bool {
        typealias Waiters = [CheckedContinuation<Result<DownloadedFile, CurlewError>, Never>]
        let waiters: Waiters? = phases.withLock { state in
            if case .running = state.phase, ifWaiting { return nil }
            if case .ended = state.phase { return [] }
            state.phase = .ended(result)
            defer { state.waiters = [] }
            return state.waiters
        }
        guard let waiters else { return false }
        source.finish()
        for waiter in waiters { waiter.resume(returning: result) }
        return true
    }
}

extension DownloadTask {
    /// The options of a download.
    ///
    /// ```swift
    /// var download = DownloadTask.Options()
    /// download.retries.attempts = 6
    /// download.tokenFile = "/var/lib/mirror/disc.iso.token"
    /// ```
    public struct Options: Sendable {
        /// The requirements on the file before it gets its name.
        public var integrity = IntegrityRequirement()
        /// The retries: the download resumes by itself after a reset, an early end, a stall (``Timeouts/idle``), another error that
        /// may pass, or a status that does (408, 429, 500, 502, 503, 504). There is 1 attempt by default, which is no retry.
        /// ``Retry/Policy/attempts`` counts all attempts, whatever was gained in between, and all segments share it; so a server that
        /// gives a byte a time is not asked for ever.
        ///
        /// With more than 1 attempt the requests of a download are not sent again by ``Retry`` as well, unless
        /// ``RequestOptions/maximumAttempts`` says so.
        public var retries = Retry.Policy(attempts: 1, totalTime: Timeouts.unlimited)
        /// The number of connections that fetch parts of the file at a time, 1 to 16; 1 by default.
        ///
        /// There are several only if the server says that it takes ranges (`Accept-Ranges: bytes`), says how long the file is,
        /// and has a strong validator for it, and no more than there are parts of ``segmentSize``. Else, and if the server then
        /// refuses ranges after all, one connection fetches the whole.
        public var segments = 1
        /// The least that a segment has; 8 MiB, and never less than that.
        public var segmentSize: ByteSize {
            get { smallestSegment }
            set { smallestSegment = max(newValue, SegmentPlan.smallestSegment) }
        }
        /// The path of a file that keeps a ``ResumeToken`` while the download is under way, for a later process to resume should
        /// this one be killed; nil, the default, keeps none.
        ///
        /// It is written when the head of the response has come and whenever ``checkpoint`` bytes more have, each time all at
        /// once, and removed when the file has got its name. The bytes that it lists were written to the part file before, so they
        /// outlive the process. To outlive a loss of power as well, set ``synchronizesCheckpoints``; without it the token may
        /// then list bytes that are not there, which their hash reveals, and the download restarts.
        public var tokenFile: String?
        /// The number of bytes between two writings of ``tokenFile``. 16 MiB by default, 64 KiB at least.
        public var checkpoint: ByteSize = .mebibytes(16)
        /// True if part file and token are on the disk (`fsync`) before the download proceeds from a checkpoint.
        /// False by default.
        public var synchronizesCheckpoints = false
        /// The clock that measures the waits.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Tests have smaller files.
        var smallestSegment = SegmentPlan.smallestSegment
        /// What keeps the token and gives the file its name in place of the download; nil is the download itself.
        package var custody: DownloadCustody?

        public init(
            integrity: IntegrityRequirement = IntegrityRequirement(), attempts: Int = 1, segments: Int = 1,
            tokenFile: String? = nil, checkpoint: ByteSize = .mebibytes(16), synchronizesCheckpoints: Bool = false
        ) {
            self.integrity = integrity
            retries.attempts = attempts
            self.segments = segments
            self.tokenFile = tokenFile
            self.checkpoint = checkpoint
            self.synchronizesCheckpoints = synchronizesCheckpoints
        }

        /// True if the bytes are hashed as they come, for tokens. Where none is kept, one that is wanted in the end
        /// reads them again: hashing takes a third of the processor time of a fast download.
        var hashes: Bool { tokenFile != nil || custody != nil }
    }
}
