public import HTTPTypes

extension HTTPSession {
    /// Makes a task that downloads into a file. The task starts suspended.
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to the session's base.
    ///   - destination: The destination of the file.
    ///   - fields: Fields of its requests. The download sets `Range`, `If-Range` and `Accept-Encoding` itself: it
    ///     requests the bytes without a coding (`identity`). If a server sends a content coding nevertheless, the file
    ///     has the coded bytes, and ``DownloadedFile/response`` names the coding. If ``RequestOptions/decodesContent``
    ///     is true, the coding is removed, and the download cannot be resumed.
    ///   - download: The options of the download.
    ///   - options: Options of its requests. ``RequestOptions/totalTimeout`` is a deadline over all requests;
    ///     ``RequestOptions/onResponse`` is ignored.
    /// - Throws: ``CurlewError`` for a URL that cannot be parsed, and for fields that only the download may set.
    public func downloadTask(
        _ reference: URIReference, to destination: Destination, fields: HTTPFields = HTTPFields(),
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions()
    ) throws -> DownloadTask {
        let request = CurlewRequest(.get, try resolve(reference), fields: fields, options: options)
        return try downloadTask(request, to: destination, download, token: nil)
    }

    /// Makes a task that resumes a download. The task starts suspended.
    ///
    /// Range requests have the condition that the server still has the same file (If-Range), and each response is
    /// checked before it is written. The download restarts if the file has changed, if the server sends the complete
    /// file or a response that does not match, or if the part file has changed.
    /// - Parameters:
    ///   - token: The token of the download.
    ///   - destination: The destination of the file; nil, the default, is the original destination, without replacing
    ///     an existing file.
    ///   - fields: As in ``downloadTask(_:to:fields:download:options:)``. The original fields are not in the token.
    ///   - download: The options of the download.
    ///   - options: Options of its requests.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken`` if neither the call nor the token names a
    ///   destination, and an error for fields that only the download may set.
    public func downloadTask(
        resuming token: ResumeToken, to destination: Destination? = nil, fields: HTTPFields = HTTPFields(),
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions()
    ) throws -> DownloadTask {
        guard let place = destination ?? token.destination.map({ Destination.file($0) }) else {
            throw ResumeToken.invalid("it has no destination for the file")
        }
        let request = CurlewRequest(.get, token.uri, fields: fields, options: options)
        return try downloadTask(request, to: place, download, token: token)
    }

    /// Downloads into a file. Cancelling the calling task cancels the download.
    ///
    /// ```swift
    /// let file = try await api.download(
    ///     "disc.iso", to: .folder("/tmp"), integrity: .sha256(published), attempts: 6
    /// ) { progress in
    ///     bar.show(progress.received.fraction)
    /// }
    /// print(file.path, file.size)
    /// ```
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to the session's base.
    ///   - destination: The destination of the file.
    ///   - integrity: The requirements on the file; nil uses those of `download`.
    ///   - attempts: The greatest number of attempts, including the first: the download resumes after an interruption.
    ///     nil uses the number of `download`.
    ///   - tokenFile: The path of a file that keeps a ``ResumeToken`` during the download. If it holds a token of the
    ///     same URL and destination, as after a process was killed, the download resumes; otherwise it starts. A file
    ///     that was already complete and satisfies `integrity`, and an existing file with the digest of `integrity`,
    ///     are returned without a request. nil uses the path of `download` (``DownloadTask/Options/tokenFile``), and
    ///     never resumes.
    ///   - fields: As in ``downloadTask(_:to:fields:download:options:)``.
    ///   - credential: A credential for its requests, sent with the first one. The token does not contain it.
    ///   - timeout: A deadline over the complete download.
    ///   - download: The options of the download.
    ///   - options: Options of its requests.
    ///   - progress: Called with the newest progress, on an unspecified executor.
    /// - Throws: ``CurlewError``, as ``DownloadTask/file()`` does.
    public func download(
        _ reference: URIReference, to destination: Destination, integrity: IntegrityRequirement? = nil,
        attempts: Int? = nil, tokenFile: String? = nil, fields: HTTPFields = HTTPFields(),
        credential: Credential? = nil,
        timeout: Duration? = nil,
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        var download = download
        if let integrity { download.integrity = integrity }
        if let attempts { download.retries.attempts = attempts }
        var options = options
        if let timeout { options.totalTimeout = timeout }
        var token: ResumeToken?
        if let tokenFile {
            download.tokenFile = tokenFile
            token = try await keptToken(in: tokenFile, of: try resolve(reference), to: destination)
            if let kept = token, await kept.isFinished {
                if let file = try await kept.finishedFile(satisfying: download.integrity) {
                    await TokenFile.remove(tokenFile)
                    return file
                }
                token = nil
            }
            if token == nil,
                let file = try await wholeFile(of: try resolve(reference), at: destination, download.integrity)
            {
                return file
            }
        }
        options = options.limited(to: CallScope.current)
        let request = try request(.get, reference, CallSettings(fields, credential, nil, options))
        let task = try downloadTask(request, to: destination, download, token: token)
        return try await task.file(showing: progress)
    }

    /// Resumes a download. Cancelling the calling task cancels the download.
    ///
    /// ```swift
    /// do {
    ///     _ = try await api.download("disc.iso", to: .folder("/tmp"))
    /// } catch let error as CurlewError {
    ///     guard let token = error.resumeToken else { throw error }
    ///     _ = try await api.download(resuming: token)
    /// }
    /// ```
    /// The parameters are those of ``downloadTask(resuming:to:fields:download:options:)``.
    /// - Throws: ``CurlewError``, as ``DownloadTask/file()`` does.
    public func download(
        resuming token: ResumeToken, to destination: Destination? = nil, fields: HTTPFields = HTTPFields(),
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        let task = try downloadTask(
            resuming: token, to: destination, fields: fields, download: download,
            options: options.limited(to: CallScope.current))
        return try await task.file(showing: progress)
    }

    /// The existing file at the destination, if it has the required digest: the file of an earlier download.
    private func wholeFile(
        of uri: CurlewURI, at destination: Destination, _ integrity: IntegrityRequirement
    ) async throws -> DownloadedFile? {
        guard let digest = integrity.digest, destination.existing != .unique, let path = destination.filePath,
            let file = await TokenFile.snapshot(of: path), integrity.length ?? file.size == file.size
        else { return nil }
        let actual = try await PrefixDigest(path: path, start: 0, digest.algorithm.function).hash(to: file.size)
        guard try ContentDigest(hex: actual) == digest else { return nil }
        return DownloadedFile(
            path: path, size: file.size, response: nil, uri: uri.withoutUserInformation, digest: digest, history: [])
    }

    /// The token in a file, if it belongs to this URL and destination.
    /// - Throws: ``CurlewError`` for a file that cannot be read. A file without a token is overwritten.
    private func keptToken(
        in path: String, of uri: CurlewURI, to destination: Destination
    ) async throws -> ResumeToken? {
        guard await TokenFile.snapshot(of: path) != nil else { return nil }
        do {
            let token = try await ResumeToken(contentsOf: path)
            let isSame = token.uri == uri.withoutUserInformation && destination.mayBe(token.destination)
            return isSame ? token : nil
        } catch let error as CurlewError where error.code == .invalidResumeToken {
            return nil
        }
    }

    private func downloadTask(
        _ request: CurlewRequest, to destination: Destination, _ download: DownloadTask.Options, token: ResumeToken?
    ) throws -> DownloadTask {
        for name in [HTTPField.Name.range, .ifRange] where request.fields.contains(name) {
            throw CurlewError(.invalidRequest, "a download sets the field \(name.rawName) itself")
        }
        return DownloadTask(
            session: self, request: request, destination: destination, options: download, token: token)
    }
}

extension DownloadTask {
    /// Starts the task and waits for its end.
    fileprivate func file(showing show: (@Sendable (TaskProgress) -> Void)?) async throws -> DownloadedFile {
        resume()
        guard let show else { return try await file() }
        async let shown: Void = { for await step in progress { show(step) } }()
        let file = try await file()
        await shown
        return file
    }
}

extension ResumeToken {
    /// The file of a finished download; nil if it does not satisfy the requirement.
    fileprivate func finishedFile(satisfying integrity: IntegrityRequirement) async throws -> DownloadedFile? {
        guard let destination, let total, integrity.length == nil || integrity.length == total,
            integrity.digest != nil || !integrity.requiresDigest
        else { return nil }
        if let digest = integrity.digest {
            let actual = try await PrefixDigest(path: destination, start: 0, digest.algorithm.function).hash(to: total)
            guard try ContentDigest(hex: actual) == digest else { return nil }
        }
        return DownloadedFile(
            path: destination, size: total, response: nil, uri: finalURI ?? uri, digest: integrity.digest, history: [])
    }
}
