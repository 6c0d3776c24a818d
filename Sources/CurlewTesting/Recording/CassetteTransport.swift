#if TestKit
public import Curlew
internal import FoundationEssentials

/// Records when there is no recording yet, and replays when there is one: what is called a cassette elsewhere.
///
///     let cassette = try CassetteTransport("Recordings/birds.json")
///     let api = try HTTPSession(baseURL: "https://api.example.com/", transport: cassette)
///     …
///     try await cassette.finish()
///
/// The first run of the test asks the server and writes the file with ``finish()``; later ones need no server, until the file is
/// deleted. A test that fails before `finish()` writes nothing.
///
/// On a server for continuous integration nothing is ever recorded: without a file, a test fails. See ``Mode/fromEnvironment``.
public final class CassetteTransport: Transport, Sendable {
    /// The choice between recording and replaying.
    public struct Mode: Sendable, Hashable {
        enum Kind { case fromEnvironment, replay, record, recordIfMissing }

        let kind: Kind

        /// What the variable `CURLEW_CASSETTES` says: `replay`, `record` or `record-if-missing`. Without it ``replay`` if the variable
        /// `CI` is set, and not to `false` or `0`; else ``recordIfMissing``.
        public static let fromEnvironment = Mode(kind: .fromEnvironment)
        /// Replays, and fails if there is no file.
        public static let replay = Mode(kind: .replay)
        /// Records anew, in place of what is there.
        public static let record = Mode(kind: .record)
        /// Records if there is no file, else replays.
        public static let recordIfMissing = Mode(kind: .recordIfMissing)
    }

    private enum Use {
        case recording(RecordingTransport)
        case replaying(ReplayTransport)
    }

    /// The file.
    public let path: String
    private let use: Use

    /// Makes a transport that records into a file, or replays it.
    ///
    /// - Parameters:
    ///   - path: The file. A path that does not begin with a slash is relative to the folder of the source file that has the test,
    ///     wherever the tests are run. The folder must be there.
    ///   - mode: The choice between recording and replaying.
    ///   - replay: The exchanges that a request may be answered with; see ``ReplayTransport``.
    ///   - matching: What is compared of requests; by default what suits `replay`.
    ///   - masking: The secrets that are not recorded.
    ///   - sourceFile: The source file that has the test.
    ///   - transport: What carries the requests when they are recorded; by default a session of its own. It is made only then.
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if there is nothing to replay, it cannot be read, the folder
    ///   for a recording is not there, or `CURLEW_CASSETTES` has another value; also what making the transport throws.
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

    /// Found out before there is anything to lose.
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

    /// Ends the test's use of it: writes the recording, or verifies the replay as ``ReplayTransport/verify()`` does.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` if the recording cannot be written; ``TestKitError`` that
    ///   names what was left over or unexpected.
    public func finish() async throws {
        switch self.use {
        case .recording(let recorder): try await recorder.save(to: self.path)
        case .replaying(let replay): try replay.verify()
        }
    }

    /// Sends a request on, or answers it; an `HTTPSession` calls it.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        switch self.use {
        case .recording(let recorder): try await recorder.send(request)
        case .replaying(let replay): try await replay.send(request)
        }
    }
}

extension CassetteTransport.Mode {
    /// The mode that the environment asks for, if it is the one to ask.
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
