/// How a file is downloaded.
///
/// ```swift
/// var download = DownloadOptions()
/// download.resumes = 5
/// download.tokenFile = "/var/lib/mirror/disc.iso.token"
/// ```
public struct DownloadOptions: Sendable {
    /// What the file must be like before it gets its name.
    public var integrity = Integrity()
    /// How often the download goes on by itself after a reset, an early end, a stall (``Timeouts/idle``), another error that
    /// may pass, or a status that does (408, 429, 500, 502, 503, 504). 0 by default. It is the number in all, whatever was
    /// gained in between, and all segments share it; so a server that gives a byte a time is not asked for ever.
    ///
    /// With more than 0 the requests of a download are not sent again by ``Retry`` as well, unless
    /// ``RequestOptions/maximumAttempts`` says so.
    public var resumes = 0
    /// How many connections fetch parts of the file at a time, 1 to 16; 1 by default.
    ///
    /// There are several only if the server says that it takes ranges (`Accept-Ranges: bytes`), says how long the file is,
    /// and has a strong validator for it, and no more than there are parts of ``segmentSize``. Else, and if the server then
    /// refuses ranges after all, one connection fetches the whole.
    public var segments = 1
    /// The least that a segment has; 8 MiB, and never less than that.
    public var segmentSize: ByteCount {
        get { smallestSegment }
        set { smallestSegment = max(newValue, SegmentPlan.smallestSegment) }
    }
    /// Where a ``ResumeToken`` is kept while the download is under way, for a later process to go on with should this one
    /// be killed; nil, the default, keeps none.
    ///
    /// It is written when the head of the response has come and whenever ``checkpoint`` bytes more have, each time all at
    /// once, and removed when the file has got its name. What it tells of had been written to the part file before, so it
    /// outlives the process. To outlive a loss of power as well, set ``synchronizesCheckpoints``; without it the token may
    /// then tell of bytes that are not there, which is found out by their hash, and the download begins anew.
    public var tokenFile: String?
    /// How many bytes come between two writings of ``tokenFile``. 16 MiB by default, 64 KiB at least.
    public var checkpoint: ByteCount = .mebibytes(16)
    /// Whether part file and token are on the disk (`fsync`) before the download goes on from a checkpoint. Not by default.
    public var synchronizesCheckpoints = false
    /// How long to wait before going on. From 0 to 100 ms after the first failure, doubling up to 10 s.
    public var backoff = Backoff()
    /// The longest Retry-After that is waited for; a server that asks for more ends the download. 60 seconds by default.
    public var retryAfterLimit: Duration = .seconds(60)
    /// What measures the waits.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Tests have smaller files.
    var smallestSegment = SegmentPlan.smallestSegment

    public init() {}

    /// Whether the bytes are hashed as they come, for tokens. Where none is kept, one that is wanted in the end reads them
    /// again: hashing takes a third of the processor time of a fast download.
    var hashes: Bool { tokenFile != nil }
}
