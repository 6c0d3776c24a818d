/// A download into a file: one file from as many requests as necessary.
///
/// A task starts suspended. ``resume()`` and ``suspend()`` may be called at any moment, from any thread, any number of
/// times. They stop and restart the bytes of the running attempt and of later ones. A running task needs no reference
/// to it.
///
/// The bytes go to a part file beside the destination. The part file is renamed after all bytes have arrived and
/// satisfy ``DownloadTask/Options/integrity``. Until then the destination has no file. The attempts are tasks of the
/// session (``SessionActor/tasks(_:)``) with the kind ``TaskActor/Kind/download``.
///
/// ```swift
/// let task = try api.downloadTask("disc.iso", to: .folder("/tmp"))
/// task.resume()
/// for await progress in task.progress { print(progress.received.fraction ?? 0) }
/// let file = try await task.file()
/// ```
public final class DownloadTask: Sendable {
    /// The request of the complete file. The attempts add the fields for their ranges.
    public let request: CurlewRequest
    /// The options of the download.
    public let options: DownloadTask.Options

    private enum Phase {
        /// The task has not started. The closure that starts it holds the session.
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

    // MARK: Control

    /// Starts the download, or continues it after ``suspend()``.
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

    /// Stops the bytes until ``resume()``. Meanwhile the idle timeout is stopped; the total timeout is not. A wait
    /// before the next attempt (``DownloadTask/Options/retries``) continues, but the request after it waits.
    public func suspend() { phases.withLock { _ in attempts.suspend() } }

    /// Ends the download with ``ErrorCode/cancelled``, unless it has already ended, and waits for its end.
    /// - Returns: The token that resumes the download; nil if no bytes can be kept, and if it had already ended.
    @discardableResult
    public func cancel() async -> ResumeToken? {
        beginCancelling()
        if case .failure(let error) = await outcome() { return error.resumeToken }
        return nil
    }

    private func beginCancelling() {
        let (hasBegun, work) = phases.withLock { state -> (Bool, Task<Void, Never>?) in
            switch state.phase {
            case .waiting: (false, nil)
            case .running(let work): (true, work)
            case .ended: (true, nil)
            }
        }
        // Cancellation calls the handlers of users, which may ask for the state.
        work?.cancel()
        guard !hasBegun else { return }
        let context = CurlewError.Context(method: request.method, uri: request.uri, resumeToken: token)
        let error = CurlewError(.cancelled, "the download was cancelled before it began", context: context)
        // A download that has started at this moment is cancelled as a running one.
        if !end(.failure(error), ifWaiting: true) { beginCancelling() }
    }

    // MARK: Inspection

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

    /// The progress of the download over all attempts. Each read returns the newest value. The last element follows the
    /// end of the download, after success or failure.
    public var progress: DownloadTask.Progress { DownloadTask.Progress(source: source) }

    /// The progress of the download at this moment.
    public var currentProgress: TaskProgress { source.latest }

    /// Waits for the file. It does not start the download. Cancelling the waiting task cancels the download.
    /// - Throws: ``CurlewError``; ``CurlewError/resumeToken`` resumes the download. The body of a status other than 2xx
    ///   is not written to the disk. The error is then ``ErrorCode/unacceptableStatus``, and ``CurlewError/bodyPrefix``
    ///   has the beginning of the body.
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
    /// - Returns: False if `ifWaiting` is true and the download has already started.
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
        /// The requirements on the file before it is renamed.
        public var integrity = IntegrityRequirement()
        /// The retries: the download resumes by itself after a reset, an early end, a stall (``Timeouts/idle``), or
        /// another transient error. It also resumes after a transient status (408, 429, 500, 502, 503, 504). The
        /// default is 1 attempt, which means no retry. ``Retry/Policy/attempts`` counts all attempts, even if bytes
        /// arrived in between, and all segments share it. A server that sends one byte per attempt is therefore not
        /// asked forever.
        ///
        /// With more than 1 attempt, ``Retry`` does not also retry the requests of a download, unless
        /// ``RequestOptions/maximumAttempts`` permits it.
        public var retries = Retry.Policy(attempts: 1, totalTime: Timeouts.unlimited)
        /// The number of connections that fetch parts of the file at a time, 1 to 16; 1 by default.
        ///
        /// Several connections need a server that accepts ranges (`Accept-Ranges: bytes`), declares the length of the
        /// file, and has a strong validator for it. There are at most as many connections as parts of ``segmentSize``.
        /// Otherwise, and if the server rejects ranges later, one connection fetches the complete file.
        public var segments = 1
        /// The smallest size of a segment: 8 MiB by default, and at least 8 MiB.
        public var segmentSize: ByteSize {
            get { smallestSegment }
            set { smallestSegment = max(newValue, SegmentPlan.smallestSegment) }
        }
        /// The path of a file that keeps a ``ResumeToken`` during the download, so that a later process can resume
        /// after this one was killed. nil, the default, keeps none.
        ///
        /// The file is written after the head of the response, and after each further ``checkpoint`` bytes, each time
        /// atomically. It is removed after the download is renamed. The bytes that it lists were written to the part
        /// file before, so they outlive the process. To outlive a loss of power as well, set
        /// ``synchronizesCheckpoints``. Without it the token may list bytes that were lost; their hash then reveals the
        /// loss, and the download restarts.
        public var tokenFile: String?
        /// The number of bytes between two writes of ``tokenFile``. 16 MiB by default, 64 KiB at least.
        public var checkpoint: ByteSize = .mebibytes(16)
        /// True if part file and token are synchronized to the disk (`fsync`) before the download continues after a
        /// checkpoint. False by default.
        public var synchronizesCheckpoints = false
        /// The clock of the waits.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// A smaller value is for tests.
        var smallestSegment = SegmentPlan.smallestSegment
        /// The owner of the token and of the file's name; nil is the download itself.
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

        /// True if the bytes are hashed as they arrive, for tokens. Otherwise a token that is needed at the end reads
        /// the bytes again: hashing takes a third of the processor time of a fast download.
        var hashes: Bool { tokenFile != nil || custody != nil }
    }
}
