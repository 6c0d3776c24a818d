#if TestKit
public import Curlew
internal import HTTPTypes

/// Records the exchanges of another transport, for replay by a ``ReplayTransport`` without a server.
///
///     let recorder = RecordingTransport(try SessionActor())
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: recorder)
///     …
///     try await recorder.save(to: "Recordings/birds.json")
///
/// The recorder is at the end of the chain: each redirect, each retry attempt and each answer to a challenge is a
/// separate exchange. Requests and responses pass unchanged, with back-pressure; bodies are recorded as they are read.
///
/// - The exchanges are in the order in which their requests began; the order of their ends does not matter.
/// - A failure is recorded, with the bytes of the body before it. A request that was cancelled before its response
///   arrived is omitted.
/// - A body is recorded as far as its reader has read it. A body that was dropped or cancelled is marked as incomplete;
///   a replay that reads further than the recording is an error.
/// - Content codings are decoded in the recording, so that it is readable and secrets are found. A coding that cannot
///   be decoded remains, with the secrets of the body: an unknown coding, an invalid body, or a partial response.
/// - Secrets are masked; see ``Recording/Masking``.
/// - A body larger than its limit fails with ``Curlew/ErrorCode/recordingFailed``. All later attempts to make a
///   recording fail too, because it would be incomplete.
public final class RecordingTransport: Transport, Sendable {
    /// The limit for all recorded exchanges, fields and bodies together: 64 MiB. It also applies to the decoded bodies.
    public static let sizeLimit: ByteSize = .mebibytes(64)

    private let transport: any Transport
    private let masking: Recording.Masking
    private let exchanges: RecordedExchanges

    /// Makes a transport that records its exchanges.
    ///
    /// - Parameters:
    ///   - transport: The transport that carries the requests, such as a `SessionActor`.
    ///   - masking: The secrets to mask in the recording.
    ///   - bodyLimit: The maximum size of one body, of a request or a response, before its content coding is decoded.
    public init(
        _ transport: any Transport, masking: Recording.Masking = Recording.Masking(),
        bodyLimit: ByteSize = .mebibytes(16)
    ) {
        self.transport = transport
        self.masking = masking
        self.exchanges = RecordedExchanges(bodyLimit: bodyLimit.bytes, sizeLimit: Self.sizeLimit.bytes)
    }

    /// Makes a recording of the exchanges so far, without secrets. Requests that still wait for a response are omitted.
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

    /// Writes the exchanges so far into a file and replaces an existing file; see ``Recording/write(to:)``.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if an exchange was too large or the file
    ///   cannot be written. An existing file remains unchanged then.
    public func save(to path: String) async throws {
        try await self.recording().write(to: path)
    }

    /// Sends a request on and records it. `HTTPSession` calls this method.
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
