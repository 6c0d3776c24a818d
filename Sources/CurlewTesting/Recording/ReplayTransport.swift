#if TestKit
public import Curlew
internal import HTTPTypes

/// Answers requests from a ``Recording``, without a network.
///
///     let replay = try ReplayTransport(contentsOf: "Recordings/birds.json")
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: replay)
///     …
///     try replay.verify()
///
/// A request is compared with what was recorded by ``Matching``; ``Mode`` says with which of the exchanges. One that does not match
/// fails at once with ``Curlew/ErrorCode/unexpectedRequest``: the error names the recording, the exchange and each difference,
/// and ``verify()`` reports it again, in case it was swallowed.
///
/// A recorded response comes with its interim responses, its fields, its body in pieces and its trailers. Content-Length follows
/// the body, which may have been edited. A recorded failure is thrown again, after the bytes that came before it. Where a body
/// was not recorded to its end, because nobody read it, reading further is ``Curlew/ErrorCode/recordingFailed``. What speaks of
/// time comes as it was: dates are then of the past, and a link that obeys Retry-After waits; edit the recording where that matters.
///
/// Requests are treated as by a ``StubTransport``: checked, their bodies read to the end, and ended by cancellation. There is no
/// ``Curlew/CurlewResponse/task`` and there are no timeouts, but recorded ones come again at once.
public final class ReplayTransport: Transport, Sendable {
    /// The exchanges that a request may be answered with.
    public struct Mode: Sendable, Hashable {
        enum Kind { case strict, loose }

        let kind: Kind

        /// Each exchange once, in the order in which they were recorded. For requests that are sent one after the other.
        public static let strict = Mode(kind: .strict)
        /// Whichever matches, in any order: the first that was not used, and the last one again when all were used.
        public static let loose = Mode(kind: .loose)
    }

    /// The most bytes of a request's body that are read; more fail the request. 64 MiB.
    public static let bodyLimit: ByteSize = .mebibytes(64)

    private let core: ReplayCore
    private let masking: Recording.Masking
    private let chunkSize: ByteSize

    /// Makes a transport that answers from a recording.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - name: What errors call it.
    ///   - mode: The exchanges that a request may be answered with.
    ///   - matching: What is compared; by default ``Matching/standard`` in strict mode, ``Matching/methodAndURL`` in loose mode.
    ///   - masking: What the recording was made with. Requests are compared without their secrets.
    ///   - chunkSize: The size of the pieces that bodies come in.
    public init(
        _ recording: Recording, name: String = "the recording", mode: Mode = .strict, matching: Matching? = nil,
        masking: Recording.Masking = Recording.Masking(), chunkSize: ByteSize = .kibibytes(16)
    ) {
        self.core = ReplayCore(
            recording, name: name, mode: mode, matching: matching ?? (mode == .strict ? .standard : .methodAndURL))
        self.masking = masking
        self.chunkSize = chunkSize
    }

    /// Makes a transport that answers from a file that a ``RecordingTransport`` has saved.
    ///
    /// - Parameters:
    ///   - path: The file; errors name it.
    ///   - mode: The exchanges that a request may be answered with.
    ///   - matching: What is compared; by default ``Matching/standard`` in strict mode, ``Matching/methodAndURL`` in loose mode.
    ///   - masking: What the recording was made with. Requests are compared without their secrets.
    ///   - chunkSize: The size of the pieces that bodies come in.
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed``; see ``Recording/init(contentsOf:)``.
    public convenience init(
        contentsOf path: String, mode: Mode = .strict, matching: Matching? = nil,
        masking: Recording.Masking = Recording.Masking(), chunkSize: ByteSize = .kibibytes(16)
    ) throws {
        self.init(
            try Recording(contentsOf: path), name: path, mode: mode, matching: matching, masking: masking,
            chunkSize: chunkSize)
    }

    /// The exchanges that have answered no request, in their order.
    public var unused: [Recording.Exchange] { self.core.unused.map(\.exchange) }

    /// Checks that no request came that no exchange matched, and in strict mode that every exchange has answered one. In loose mode
    /// a recording may have more than a test needs; ``unused`` says what.
    ///
    /// - Throws: ``TestKitError`` that names the recording and what is left.
    public func verify() throws {
        let complaints = self.core.complaints
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }

    /// Answers a request; an `HTTPSession` calls it.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        do {
            try Task.checkCancellation()
            try request.checkForSending()
            let body = try await request.body.collectForSending(upTo: Self.bodyLimit.bytes)
            let sent = await Recording.Request(request, body: Recording.Body(body)).decoded()
            let answer = try self.core.claim(
                for: self.masking.masked(sent, marked: request.options.secretFields))
            return try answer.perform(for: request, chunkSize: self.chunkSize)
        } catch let error as CancellationError {
            throw CurlewError(.cancelled, "the task was cancelled", underlying: error)
                .adding(method: request.method, uri: request.uri)
        } catch let error as CurlewError {
            throw error.adding(method: request.method, uri: request.uri)
        }
    }
}
#endif
