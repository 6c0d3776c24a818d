#if TestKit
public import Curlew
internal import FoundationEssentials
internal import CurlewPlatform

extension Recording {
    /// The largest file that can be written and read: 256 MiB.
    public static let fileLimit: ByteSize = .mebibytes(256)

    /// Reads a recording from a file.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed``, which names the file and the position of the
    ///   fault. Causes are a missing file, a file larger than ``fileLimit``, invalid or truncated JSON, JSON that is
    ///   not a recording, and another version of the format.
    public init(contentsOf path: String) throws {
        do {
            self = try JSONCoding().decode(Recording.self, from: try Self.bytes(ofFile: path))
        } catch let error as DecodingError {
            throw CurlewError(.recordingFailed, "\(path) is not a recording: \(error.place)", underlying: error)
        } catch let error as JSONCoding.Failure {
            let error = CurlewError(error)
            throw CurlewError(.recordingFailed, "\(path) is not a recording: \(error.message)", underlying: error)
        }
    }

    private static func bytes(ofFile path: String) throws -> [UInt8] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CurlewError(.recordingFailed, "the recording \(path) cannot be read: \(describe(errno))")
        }
        // Only a regular file has a bounded size; a device or a pipe may be endless.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CurlewError(.recordingFailed, "the recording \(path) cannot be read: it is no file")
        }
        guard status.st_size <= self.fileLimit.bytes else {
            throw CurlewError(.recordingFailed, "the recording \(path) is larger than \(self.fileLimit.bytes) bytes")
        }
        do {
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch let error as CocoaError {
            throw CurlewError(
                .recordingFailed, "the recording \(path) cannot be read: \(error.reason)", underlying: error)
        }
    }

    /// Writes the recording into a file and replaces an existing file atomically, by a temporary file. Equal recordings
    /// have equal files.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed``, which names the file. Causes are a missing
    ///   folder, a failed write, and a file that would be larger than ``fileLimit``. An existing file remains unchanged
    ///   then.
    public func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let data = try encoder.encode(self) + [UInt8(ascii: "\n")]
            guard data.count <= Self.fileLimit.bytes else {
                throw CurlewError(
                    .recordingFailed, "the recording \(path) would be larger than \(Self.fileLimit.bytes) bytes")
            }
            try data.write(to: URL(filePath: path), options: .atomic)
        } catch let error as CocoaError {
            throw CurlewError(
                .recordingFailed, "the recording \(path) cannot be written: \(error.reason)", underlying: error)
        }
    }
}

extension DecodingError {
    /// The position in the file and the fault there: `exchanges[1].request.url: the value is not an absolute URL`.
    fileprivate var place: String {
        switch self {
        case .keyNotFound(let key, let context): "\(Self.path(context.codingPath + [key])): it is missing"
        case .valueNotFound(_, let context): "\(Self.path(context.codingPath)): there is no value"
        case .typeMismatch(_, let context): "\(Self.path(context.codingPath)): the value has another type"
        case .dataCorrupted(let context): "\(Self.path(context.codingPath)): \(context.debugDescription)"
        @unknown default: "it cannot be decoded"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("") { path, key in
            if let index = key.intValue { return "\(path)[\(index)]" }
            return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
        }
    }
}

extension CocoaError {
    /// The system's reason, in words.
    fileprivate var reason: String {
        switch self.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "there is no such file or folder"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "the disk is full"
        case .fileWriteVolumeReadOnly: "the file system is read-only"
        default: (self.underlying as? POSIXError).map { "\($0.code)" } ?? "error \(self.code.rawValue)"
        }
    }
}
#endif
