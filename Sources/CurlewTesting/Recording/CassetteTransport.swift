#if TestKit
public import Curlew
internal import FoundationEssentials

/// Records a server's responses when there is no recording yet, and replays them otherwise. Other libraries call it a
/// cassette.
///
///     let cassette = try CassetteTransport("Recordings/birds.json")
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: cassette)
///     …
///     try await cassette.finish()
///
/// The first run of a test sends its requests to the server and writes the file in ``finish()``. Later runs need no
/// server, until the file is deleted. A test that fails before `finish()` writes no file.
///
/// In continuous integration nothing is recorded: a test without a file fails. See ``Mode/fromEnvironment``.
public final class CassetteTransport: Transport, Sendable {
    /// The choice between recording and replaying.
    public struct Mode: Sendable, Hashable {
        enum Kind { case fromEnvironment, replay, record, recordIfMissing }

        let kind: Kind

        /// The mode that the environment variable `CURLEW_CASSETTES` names: `replay`, `record` or `record-if-missing`.
        ///
        /// Without this variable the mode is ``replay`` if the variable `CI` is set to a value other than `false` and
        /// `0`, and ``recordIfMissing`` otherwise.
        public static let fromEnvironment = Mode(kind: .fromEnvironment)
        /// Replays the file, and fails if it is missing.
        public static let replay = Mode(kind: .replay)
        /// Records and replaces an existing file.
        public static let record = Mode(kind: .record)
        /// Records if the file is missing, otherwise replays.
        public static let recordIfMissing = Mode(kind: .recordIfMissing)
    }

    private enum Use {
        case recording(RecordingTransport)
        case replaying(ReplayTransport)
    }

    /// The path of the file.
    public let path: String
    private let use: Use

    /// Makes a transport that records into a file or replays it.
    ///
    /// - Parameters:
    ///   - path: The file. A path without a leading slash is relative to the folder of the test's source file, in every
    ///     working directory. The folder must exist.
    ///   - mode: The choice between recording and replaying.
    ///   - replay: The exchanges that may answer a request; see ``ReplayTransport``.
    ///   - matching: The compared parts of requests; by default those that suit `replay`.
    ///   - masking: The secrets to mask in the recording.
    ///   - sourceFile: The source file that has the test.
    ///   - transport: The transport that carries requests while recording; by default a separate session. It is made
    ///     only for recording.
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if the recording is missing or cannot be read,
    ///   the folder for a recording does not exist, or `CURLEW_CASSETTES` has another value. Errors of making the
    ///   transport are rethrown.
    public convenience init(
        _ path: String, mode: Mode = .fromEnvironment, replay: ReplayTransport.Mode = .strict,
        matching: ReplayTransport.Matching? = nil, masking: Recording.Masking = Recording.Masking(),
        sourceFile: String = #filePath, over transport: @autoclosure () throws -> any Transport = try SessionActor()
    ) throws {
        try self.init(
            path, mode: mode, replay: replay, matching: matching, masking: masking, sourceFile: sourceFile,
            environment: ProcessInfo.processInfo.environment, over: transport)
    }

    init(
        _ path: String, mode: Mode, replay: ReplayTransport.Mode, matching: ReplayTransport.Matching?,
        masking: Recording.Masking, sourceFile: String, environment: [String: String],
        over makeTransport: () throws -> any Transport
    ) throws {
        let folder = sourceFile.lastIndex(of: "/").map { sourceFile[...$0] } ?? ""
        self.path = path.hasPrefix("/") ? path : folder + path
        let isThere = FileManager.default.fileExists(atPath: self.path)
        let kind = try mode.resolved(in: environment).kind
        if kind == .record || kind == .recordIfMissing && !isThere {
            try Self.checkFolder(of: self.path)
            self.use = .recording(RecordingTransport(try makeTransport(), masking: masking))
        } else if isThere {
            self.use = .replaying(
                try ReplayTransport(contentsOf: self.path, mode: replay, matching: matching, masking: masking))
        } else {
            throw CurlewError(
                .recordingFailed,
                "there is no recording \(self.path), and none may be made: "
                    + "CURLEW_CASSETTES=record-if-missing in the environment allows it")
        }
    }

    /// Throws if the folder does not exist, before requests are sent whose recording would be lost.
    private static func checkFolder(of path: String) throws {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var isFolder = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder else {
            throw CurlewError(.recordingFailed, "there is no folder for the recording \(path)")
        }
    }

    /// True if requests go to the server and are recorded.
    public var isRecording: Bool {
        if case .recording = self.use { true } else { false }
    }

    /// Finishes the test's use: writes the recording, or verifies the replay as ``ReplayTransport/verify()`` does.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if the recording cannot be written;
    ///   ``TestKitError`` that names unused exchanges and unexpected requests.
    public func finish() async throws {
        switch self.use {
        case .recording(let recorder): try await recorder.save(to: self.path)
        case .replaying(let replay): try replay.verify()
        }
    }

    /// Sends and records a request, or answers it from the recording. `HTTPSession` calls this method.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        switch self.use {
        case .recording(let recorder): try await recorder.send(request)
        case .replaying(let replay): try await replay.send(request)
        }
    }
}

extension CassetteTransport.Mode {
    /// The mode of the environment for ``fromEnvironment``, otherwise this mode.
    func resolved(in environment: [String: String]) throws -> CassetteTransport.Mode {
        guard self == .fromEnvironment else { return self }
        switch environment["CURLEW_CASSETTES"] {
        case "replay": return .replay
        case "record": return .record
        case "record-if-missing": return .recordIfMissing
        case nil, "": return ["", "false", "0"].contains(environment["CI"] ?? "") ? .recordIfMissing : .replay
        case .some(let value):
            throw CurlewError(
                .recordingFailed, "CURLEW_CASSETTES is \(value), not replay, record or record-if-missing")
        }
    }
}
#endif
