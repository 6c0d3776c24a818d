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
/// Each request is compared with recorded exchanges as ``Matching`` specifies; ``Mode`` selects the exchanges. A
/// request that does not match fails at once with ``Curlew/ErrorCode/unexpectedRequest``. The error names the
/// recording, the exchange and each difference. ``verify()`` reports it again, in case the test ignored it.
///
/// A response has its recorded interim responses, its fields, its body in pieces and its trailers. Content-Length
/// follows the body, which may have been edited. A recorded failure is thrown again, after the bytes that preceded it.
///
/// If the original reader did not read a body to its end, reading past the recorded bytes throws
/// ``Curlew/ErrorCode/recordingFailed``. Times are replayed unchanged: dates are in the past, and a link (middleware)
/// that obeys Retry-After waits. Edit the recording where that matters.
///
/// Requests are treated as by a ``StubTransport``: they are checked, their bodies are read to the end, and cancellation
/// ends them. ``Curlew/CurlewResponse/task`` is nil and no timeout applies, but recorded timeouts are thrown at once.
public final class ReplayTransport: Transport, Sendable {
    /// The exchanges that a request may be answered with.
    public struct Mode: Sendable, Hashable {
        enum Kind { case strict, loose }

        let kind: Kind

        /// Each exchange once, in the recorded order. For requests that are sent one after another.
        public static let strict = Mode(kind: .strict)
        /// Any matching exchange: the first unused one, or the last one again when all matching exchanges are used.
        public static let loose = Mode(kind: .loose)
    }

    /// The maximum size of a request's body: 64 MiB. A larger body fails the request.
    public static let bodyLimit: ByteSize = .mebibytes(64)

    private let core: ReplayCore
    private let masking: Recording.Masking
    private let chunkSize: ByteSize

    /// Makes a transport that answers from a recording.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - name: The name of the recording in errors.
    ///   - mode: The exchanges that may answer a request.
    ///   - matching: The compared parts; by default ``Matching/standard`` in strict mode, ``Matching/methodAndURL`` in
    ///     loose mode.
    ///   - masking: The masking of the recording. Requests are masked before they are compared.
    ///   - chunkSize: The size of the pieces of bodies.
    public init(
        _ recording: Recording, name: String = "the recording", mode: Mode = .strict, matching: Matching? = nil,
        masking: Recording.Masking = Recording.Masking(), chunkSize: ByteSize = .kibibytes(16)
    ) {
        self.core = ReplayCore(
            recording, name: name, mode: mode, matching: matching ?? (mode == .strict ? .standard : .methodAndURL))
        self.masking = masking
        self.chunkSize = chunkSize
    }

    /// Makes a transport that answers from a file of a ``RecordingTransport``.
    ///
    /// - Parameters:
    ///   - path: The file; errors name it.
    ///   - mode: The exchanges that may answer a request.
    ///   - matching: The compared parts; by default ``Matching/standard`` in strict mode, ``Matching/methodAndURL`` in
    ///     loose mode.
    ///   - masking: The masking of the recording. Requests are masked before they are compared.
    ///   - chunkSize: The size of the pieces of bodies.
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

    /// Checks that every request matched an exchange, and in strict mode that every exchange has answered a request. In
    /// loose mode a recording may have unused exchanges; ``unused`` returns them.
    ///
    /// - Throws: ``TestKitError`` that names the recording, the unused exchanges and the unexpected requests.
    public func verify() throws {
        let complaints = self.core.complaints
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }

    /// Answers a request. `HTTPSession` calls this method.
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
