#if TestKit
public import Curlew
internal import FoundationEssentials
internal import Glibc

extension Recording {
    /// The largest file that is written and read. 256 MiB.
    public static let fileLimit: ByteSize = .mebibytes(256)

    /// Reads a recording from a file.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed``, which names the file and the place in it: there is no
    ///   such file, it is larger than ``fileLimit``, it is no JSON or cut short, it is no recording, or a newer release of
    ///   Curlew has written it.
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
        // What is no file may have no end.
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

    /// Writes the recording into a file, in place of what is there, all at once: under another name first. Equal recordings
    /// make equal files.
    ///
    /// - Throws: `CurlewError` with ``Curlew/ErrorCode/recordingFailed`` that names the file: its folder is not there, it cannot be
    ///   written, or would be larger than ``fileLimit``. What was there stays as it was.
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
    /// The place in the file, and what is wrong there: `exchanges[1].request.url: that is no absolute URL`.
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
    /// What the system says, in words.
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
