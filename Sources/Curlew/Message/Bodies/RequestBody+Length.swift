extension CurlewRequest.Body {
    /// The length as it is at this moment: a file is asked for its size.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is not there or is none,
    ///   ``ErrorCode/bodyLengthMismatch`` for one that is shorter than the range to be sent.
    package func lengthNow() throws -> Int64? { try watchingFile().length }

    /// The same body; a file is looked at now, to be held against what it is when it is read.
    /// - Throws: As ``lengthNow()`` does.
    func watchingFile() throws -> CurlewRequest.Body {
        guard case .file(let path, let offset, let length) = source else { return self }
        let file = try WatchedFile(path: path, offset: offset, length: length)
        return CurlewRequest.Body(source: .watched(file), length: file.length)
    }
}
