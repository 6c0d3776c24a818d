internal import FoundationEssentials

extension ResumeToken {
    /// The most bytes of a token's file that are read.
    static let fileLimit: ByteCount = .mebibytes(1)

    /// Reads a token from the file that a download has kept (``DownloadOptions/tokenFile``).
    /// - Throws: ``CurlewError``: ``ErrorCode/resumeTokenFileFailed`` if there is no such file, if it is larger than 1 MiB,
    ///   cannot be read or belongs to another user (root excepted); ``ErrorCode/invalidResumeToken`` if it holds no token that can be used.
    public init(contentsOf path: String) async throws {
        let bytes = try await TokenFile.read(path, upTo: Self.fileLimit)
        do {
            self = try JSONDecoder().decode(ResumeToken.self, from: Data(bytes))
        } catch let error as CurlewError where error.code == .invalidResumeToken {
            throw error
        } catch {
            throw CurlewError(.invalidResumeToken, "the file holds no token", underlying: error)
        }
    }

    /// Whether its part file is whole and has got its name at ``destination``: so it is if the process ended after that, and
    /// before the token's file was removed. There is nothing to go on with then.
    public var isFinished: Bool {
        get async {
            guard let destination, let total, let file = await TokenFile.snapshot(of: destination) else { return false }
            return file.isSameFile(as: identity) && file.size == total
        }
    }

    /// Writes the token into a file, in place of what is there, all at once: under another name first.
    ///
    /// Only its owner may read the file.
    /// - Parameters:
    ///   - path: The file.
    ///   - synchronizes: Whether to wait until it is on the disk.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resumeTokenFileFailed``.
    public func write(to path: String, synchronizes: Bool = false) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(self))
        } catch {
            throw CurlewError(.resumeTokenFileFailed, "the token cannot be written", underlying: error)
        }
        try await TokenFile.write(bytes, to: path, synchronizes: synchronizes)
    }
}
