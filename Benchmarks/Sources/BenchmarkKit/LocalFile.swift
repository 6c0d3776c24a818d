internal import Glibc

/// A file that a run reads.
public struct LocalFile: Sendable {
    public let path: String

    public init(_ path: String) { self.path = path }

    /// The size in bytes.
    public func size() throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw LocalFileError(path: path) }
        return Int(status.st_size)
    }

    /// The complete content.
    public func text() throws -> String {
        guard let file = fopen(path, "r") else { throw LocalFileError(path: path) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: try size())
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// An error for a file that cannot be read.
public struct LocalFileError: Error {
    public let path: String
}
