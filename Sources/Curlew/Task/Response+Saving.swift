extension Response {
    /// Writes the body into a file, off the event loop, as it comes.
    ///
    /// - Only a success (2xx) is written, and 206 only if the request had Range. 204, 205 and what answers HEAD have no content:
    ///   ``ErrorCode/emptyBody``. Anything else is ``ErrorCode/unacceptableStatus``, with the beginning of the body in
    ///   ``CurlewError/bodyPrefix``, and nothing is written.
    /// - The bytes go into a file beside the destination that gets its name when they are whole and right. Until then at most
    ///   1 MiB is on its way to the disk, and the transfer pauses while the disk is behind.
    /// - A body that breaks off, a digest that differs, a full disk and a cancelled task leave nothing behind. A file that is
    ///   whole and cannot be given its name is kept: ``CurlewError/file`` says where it is.
    ///
    /// ```swift
    /// let response = try await api.get("https://example.com/archive.tar.gz")
    /// let file = try await response.save(to: .folder("/srv/inbox"))
    /// print(file.path, file.size)
    /// ```
    /// - Parameters:
    ///   - destination: Where it goes.
    ///   - integrity: What it must be.
    /// - Throws: ``CurlewError``, also with ``ErrorCode/invalidDestination``, ``ErrorCode/fileExists``,
    ///   ``ErrorCode/diskFull``, ``ErrorCode/fileFailed``, ``ErrorCode/lengthMismatch``, ``ErrorCode/digestMismatch``, and
    ///   what breaks the body off; what the closure of ``Destination/chosen(_:)`` throws.
    public func save(to destination: Destination, integrity: Integrity = Integrity()) async throws -> DownloadedFile {
        do {
            let saving = ResponseSaving(
                response: self, request: task?.request, destination: destination, integrity: integrity)
            let file = try await saving.run()
            task?.publishFile(.moved, file.path, nil)
            return file
        } catch {
            body.abandon()
            throw failed(error)
        }
    }

    private func failed(_ error: any Error) -> any Error {
        if error is CancellationError {
            return failed(CurlewError(.cancelled, "the task was cancelled while it wrote the body"))
        }
        guard let error = error as? CurlewError else { return error }
        let complete = error.adding(
            CurlewError.Context(
                method: task?.request.method, uri: uri, stage: .receiving, response: head, attempts: attempts,
                history: history))
        if let file = complete.file { task?.publishFile(.moveFailed, file, complete) }
        return complete
    }
}
