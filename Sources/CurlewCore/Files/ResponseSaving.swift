internal import HTTPTypes

/// The writing of a response's body into a file, from the check of the head to the renaming.
struct ResponseSaving {
    let response: CurlewResponse
    let destination: Destination
    let integrity: IntegrityRequirement

    func run() async throws -> DownloadedFile {
        try await checkHead()
        var check = IntegrityCheck(integrity, of: response)
        let length = response.body.length
        if let length { try check.check(count: length, isWhole: true) }
        let path = try await destination.path(for: response)
        let part = try await destination.makePart(for: path)
        do {
            if let length { try await part.checkRoom(for: length) }
            let size = try await fill(part, check)
            let digest = try await check.verify(part, count: size, trailers: response.body.trailers)
            let finalPath = try await destination.commit(part, to: path)
            return DownloadedFile(
                path: finalPath, size: size, response: response.head, uri: response.uri, digest: digest,
                history: response.history)
        } catch {
            if (error as? CurlewError)?.file == nil { await part.discard() }
            throw error
        }
    }

    /// Writes the body, and waits until all of it is written.
    private func fill(_ part: PartFile, _ check: IntegrityCheck) async throws -> Int64 {
        if let algorithm = check.digest?.algorithm { try await part.follow(algorithm) }
        var chunks = response.body.makeAsyncIterator()
        let recycling = chunks.takeOverMemory()
        let reception: PartFile.Reception
        do {
            reception = try await PartFile.receive {
                try await chunks.next()
            } write: { chunk, offset in
                try check.check(count: offset + Int64(chunk.count), isWhole: false)
                try await part.write(chunk, at: offset, recycling: recycling)
            }
            try Task.checkCancellation()
        } catch {
            // The queued bytes are written, or have failed, before the caller examines the file.
            try? await part.drain()
            throw error
        }
        try await part.drain()
        return reception.end
    }

    // MARK: Head

    /// Throws for a response that does not contain a complete representation.
    private func checkHead() async throws {
        guard response.status.kind == .successful else { throw await refusal("no success") }
        switch response.status.code {
        case 206:
            guard response.exchange?.request.fields.contains(.range) == true else {
                throw await refusal("a part that was not requested")
            }
            guard response.mediaType?.essence != "multipart/byteranges" else {
                throw CurlewError(.unacceptableContentType, "several parts in one body are no file")
            }
        case 204, 205: throw CurlewError(.emptyBody, "the response has no content")
        default: break
        }
        if response.exchange?.request.method == .head {
            throw CurlewError(.emptyBody, "the response to HEAD has no content")
        }
    }

    private func refusal(_ reason: String) async -> CurlewError {
        await response.refusal("the status is \(response.status.text): \(reason)")
    }
}

extension CurlewResponse {
    /// Writes the body into a file as it arrives, off the event loop.
    ///
    /// - Only the body of a success (2xx) is written, and that of a 206 only if the request had Range. A response
    ///   without content, which is 204, 205 or the response to HEAD, fails with ``ErrorCode/emptyBody``. Several parts
    ///   in one body fail with ``ErrorCode/unacceptableContentType``. Other responses fail with
    ///   ``ErrorCode/unacceptableStatus``, with the beginning of the body in ``CurlewError/bodyPrefix``. Nothing is
    ///   written in these cases.
    /// - The bytes are written to a file beside the destination, which is renamed when they are complete and checked.
    ///   At most 1 MiB waits for the disk; the transfer pauses while the disk is behind.
    /// - A body that breaks off, a wrong digest, a full disk and a cancelled task leave no file behind. A complete file
    ///   that cannot be renamed is kept: ``CurlewError/file`` has its path.
    ///
    /// ```swift
    /// let response = try await api.get("https://example.com/archive.tar.gz")
    /// let file = try await response.save(to: .folder("/srv/inbox"))
    /// print(file.path, file.size)
    /// ```
    /// - Parameters:
    ///   - destination: The destination of the file.
    ///   - integrity: The requirements for the body.
    /// - Throws: ``CurlewError``, also with ``ErrorCode/invalidDestination``, ``ErrorCode/fileExists``,
    ///   ``ErrorCode/diskFull``, ``ErrorCode/fileFailed``, ``ErrorCode/lengthMismatch``, ``ErrorCode/digestMismatch``;
    ///   the error that broke the body off; the error of the closure of ``Destination/chosen(_:)``.
    public func save(to destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement()) async throws
        -> DownloadedFile
    {
        do {
            let file = try await ResponseSaving(response: self, destination: destination, integrity: integrity).run()
            exchange?.report(.moved(path: file.path))
            return file
        } catch {
            body.abandon()
            throw failed(error, to: destination)
        }
    }

    private func failed(_ error: any Error, to destination: Destination) -> any Error {
        if error is CancellationError {
            return failed(CurlewError(.cancelled, "the task was cancelled while it wrote the body"), to: destination)
        }
        guard var error = error as? CurlewError else { return error }
        if error.code.concernsFile { error = error.naming(destination.location?.path) }
        let complete = error.adding(
            CurlewError.Context(
                method: exchange?.request.method, uri: uri, stage: .receiving, response: head, attempts: attempts,
                history: history, showsQuery: showsQuery))
        if let file = complete.file { exchange?.report(.moveFailed(path: file, complete)) }
        return complete
    }

    /// The error for a status that excludes saving, with the beginning of the body, which usually has the reason. The
    /// rest of the body is cancelled.
    package func refusal(_ message: String) async -> CurlewError {
        let (bytes, breakage) = await body.gather(upTo: ByteSize(CurlewError.bodyPrefixLimit))
        body.abandon()
        if breakage is CancellationError || (breakage as? CurlewError)?.code == .cancelled {
            return CurlewError(.cancelled, "the task was cancelled", underlying: breakage)
        }
        var context = CurlewError.Context()
        context.bodyPrefix = bytes
        return CurlewError(.unacceptableStatus, message, context: context)
    }
}
