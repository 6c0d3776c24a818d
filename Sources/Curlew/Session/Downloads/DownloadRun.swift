internal import HTTPTypes

/// A download under way: from its request, or its token, to the file at its place. It runs once.
///
/// Everything that several segments share is in here, and an actor is enough to guard it: it is entered once a chunk.
actor DownloadRun {
    let session: HTTPSession
    /// The request of the whole, without what the attempts add.
    let request: Request
    let options: DownloadOptions
    let progress: DownloadProgressSource
    let token: ResumeToken?
    let destination: Destination
    /// The token as long as its part file is as it was.
    private(set) var untouched: ResumeToken?

    /// How often a download begins anew because an answer to a range did not fit.
    private static let freshStartLimit = 3

    var part: PartFile?
    /// Where the file goes; set with the first head.
    var place: String?
    var runs: [ReceivedRun] = []
    var representation: Representation?
    /// The answer that began the file, or that to the first range after a token.
    var origin: Origin?
    /// What the file has to be, as far as caller and server have said it.
    var check: IntegrityCheck?
    /// The fields after a body that was read as a whole.
    var trailers = HTTPFields()
    var attempts: DownloadAttempts
    /// The answer that a fresh start brought along.
    var pending: Response?
    var avoidsRanges = false
    var avoidsSegments = false
    var sinceCheckpoint = 0
    var isAtCheckpoint = false
    /// What the last checkpoint found written.
    var checkpointed: [ResumeToken.Received] = []
    private var freshStarts = 0
    /// What relative paths are relative to.
    let workingFolder: String

    /// What is kept of an answer. Not the answer itself: who holds it holds its transfer.
    struct Origin: Sendable {
        let head: HTTPResponse
        let uri: URI
        let history: [Hop]
        let task: TaskActor?

        init(_ response: Response) {
            head = response.head
            uri = response.uri
            history = response.history
            task = response.task
        }
    }

    init(
        session: HTTPSession, request: Request, destination: Destination, options: DownloadOptions,
        token: ResumeToken?, progress: DownloadProgressSource
    ) {
        self.session = session
        self.request = request
        self.destination = destination
        self.options = options
        self.token = token
        untouched = token
        self.progress = progress
        workingFolder = WorkingFolder.path
        attempts = DownloadAttempts(options, request.options)
    }

    /// Downloads.
    /// - Throws: ``CurlewError``, with a token if it can be gone on with.
    func run() async throws(CurlewError) -> DownloadedFile {
        do {
            if let token { try await takeUp(token) }
            untouched = nil
            while true {
                do {
                    while !isWhole { try await fetchMore() }
                    return try await finish()
                } catch let anew as FreshStart {
                    try await begin(anew)
                }
            }
        } catch {
            throw await conclude(error)
        }
    }

    // MARK: What is there

    var ranges: ByteRanges { ByteRanges(runs.map(\.range)) }

    /// Whether all bytes are there, and the server was asked in this run.
    private var isWhole: Bool {
        guard origin != nil, let total = representation?.total else { return false }
        return ranges.isWhole(of: total)
    }

    /// Whether what is there can be gone on with.
    var rangeValidator: RepresentationValidator? {
        runs.contains { !$0.range.isEmpty } ? representation?.rangeValidator : nil
    }

    private func fetchMore() async throws {
        if !avoidsRanges, let validator = rangeValidator {
            try await fetchMissing(validator)
        } else {
            do {
                try await fetchFromStart()
            } catch {
                try await recover(from: error)
            }
        }
    }

    // MARK: Going on, beginning anew

    /// Waits until the download may go on after a failure.
    /// - Throws: The failure if it is final.
    func recover(from failure: any Error) async throws {
        guard let failure = failure as? CurlewError, !Task.isCancelled, let wait = attempts.wait(after: failure) else {
            throw failure
        }
        try await attempts.sleep(for: wait)
    }

    private func begin(_ anew: FreshStart) async throws {
        // The whole comes after a failure alone, and those are counted.
        if anew.response == nil { freshStarts += 1 }
        guard freshStarts <= Self.freshStartLimit else {
            throw CurlewError(
                .rangesFailed, "the download began anew \(freshStarts - 1) times, and again \(anew.reason)")
        }
        avoidsRanges = avoidsRanges || anew.avoidsRanges
        avoidsSegments = true
        pending = anew.response
        try await forget()
    }

    /// Lets go of all bytes; the part file stays.
    func forget() async throws {
        runs = []
        checkpointed = []
        representation = nil
        origin = nil
        try await part?.truncate(to: 0)
        progress.publish(received: 0, total: nil)
    }
}
