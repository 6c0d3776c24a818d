extension CurlewRequest.Body {
    /// The present length; that of a file is read from the file system.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is missing or not a regular file,
    ///  ``ErrorCode/bodyLengthMismatch`` for a file that is shorter than the range to be sent.
    package func lengthNow() throws -> Int64? { try watchingFile().length }

    /// The same body. The present state of its file is recorded, to detect a change when the file is read.
    /// - Throws: The errors of ``lengthNow()``.
    func watchingFile() throws -> CurlewRequest.Body {
        guard case .file(let path, let offset, let length) = source else { return self }
        let file = try WatchedFile(path: path, offset: offset, length: length)
        return CurlewRequest.Body(source: .watched(file), length: file.length)
    }
}
