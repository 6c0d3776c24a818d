#if TestKit
public import Curlew
internal import HTTPTypes

/// Records what passes it on its way to another transport, to be replayed by a ``ReplayTransport`` when there is no server.
///
///     let recorder = RecordingTransport(try SessionActor())
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: recorder)
///     …
///     try await recorder.save(to: "Recordings/birds.json")
///
/// It stands at the end of the chain: each redirect, each attempt of a retry and each challenge is an exchange of its own. Requests
/// and responses pass unchanged, with back-pressure; bodies are recorded as they are read.
///
/// - The exchanges stand in the order in which their requests began, whatever ended first.
/// - A failure is recorded, with what came of the body before. A request that was cancelled before its response came is left out.
/// - A body is recorded as far as its reader has read it. One that was dropped or cancelled is marked so; a replay that reads
///   further than the recording is an error.
/// - Content codings are undone in the recording, so that it can be read and secrets are found. One that cannot be undone (not
///   known, broken, of a partial response) stays, with what secrets the body has.
/// - Secrets are masked, see ``Recording/Masking``.
/// - A body larger than its bound fails with ``Curlew/ErrorCode/recordingFailed``, and so does all that would make a recording of
///   this one: it would not be whole.
public final class RecordingTransport: Transport, Sendable {
    /// The most bytes that are recorded of all exchanges, fields and bodies together; of bodies also without their content
    /// codings. 64 MiB.
    public static let sizeLimit: ByteSize = .mebibytes(64)

    private let transport: any Transport
    private let masking: Recording.Masking
    private let exchanges: RecordedExchanges

    /// Makes a transport that records what passes it.
    ///
    /// - Parameters:
    ///   - transport: What carries the requests, such as a `SessionActor`.
    ///   - masking: The secrets that are not recorded.
    ///   - bodyLimit: The most bytes of one body, of a request or a response, before its content coding is undone.
    public init(
        _ transport: any Transport, masking: Recording.Masking = Recording.Masking(),
        bodyLimit: ByteSize = .mebibytes(16)
    ) {
        self.transport = transport
        self.masking = masking
        self.exchanges = RecordedExchanges(bodyLimit: bodyLimit.bytes, sizeLimit: Self.sizeLimit.bytes)
    }

    /// What has been recorded so far, without secrets. Requests that are still waiting for a response are not in it.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if an exchange was too large.
    public func recording() async throws -> Recording {
        let snapshot = try self.exchanges.snapshot()
        var recording = Recording()
        var size = 0
        for exchange in snapshot {
            let masked = await exchange.masked(by: self.masking)
            size += masked.request.body.bytes.count + (masked.response?.body.bytes.count ?? 0)
            guard size <= Self.sizeLimit.bytes else {
                throw CurlewError(
                    .recordingFailed, "without content codings the bodies are larger than \(Self.sizeLimit.bytes) bytes"
                )
            }
            recording.exchanges.append(masked)
        }
        return recording
    }

    /// Writes what has been recorded so far into a file, in place of what is there; see ``Recording/write(to:)``.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if an exchange was too large, or the file cannot be
    ///   written. What was there stays as it was.
    public func save(to path: String) async throws {
        try await self.recording().write(to: path)
    }

    /// Sends a request on and records it; an `HTTPSession` calls it.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        let index = try self.exchanges.begin(request)
        var sent = request
        sent.body = RecordedChunks.recording(request.body) { [exchanges] in try exchanges.take($0, ofRequest: index) }
        do {
            var response = try await self.transport.send(sent)
            try self.exchanges.take(response, to: index)
            let chunks = RecordedChunks(response.body) { [exchanges] in try exchanges.take($0, ofResponse: index) }
            response.body = .stream(chunks, over: response.body, length: response.body.length)
            return response
        } catch {
            try self.exchanges.fail(index, error)
            throw error
        }
    }
}
#endif
