public import HTTPTypes

extension HTTPSession {
    /// Makes a task that downloads into a file. It starts suspended.
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to the session's base.
    ///   - destination: Where the file goes.
    ///   - fields: Fields of its requests. `Range`, `If-Range` and `Accept-Encoding` are the download's own to set: it asks
    ///     for the bytes as they are (`identity`). Should a server send a content coding all the same, the file has the coded
    ///     bytes, and ``DownloadedFile/response`` says so. Where ``RequestOptions/decodesContent`` is true it is undone, and the
    ///     download cannot be continued.
    ///   - download: The options of the download.
    ///   - options: Options of its requests. ``RequestOptions/totalTimeout`` is a deadline over all of it;
    ///     ``RequestOptions/onResponse`` is not asked.
    /// - Throws: ``CurlewError`` for a URL that cannot be read, and for fields that are not the caller's to set.
    public func downloadTask(
        _ reference: URIReference, to destination: Destination, fields: HTTPFields = HTTPFields(),
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions()
    ) throws -> DownloadTask {
        let request = CurlewRequest(.get, try resolve(reference), fields: fields, options: options)
        return try downloadTask(request, to: destination, download, token: nil)
    }

    /// Makes a task that resumes a download. It starts suspended.
    ///
    /// Ranges are asked for on the condition that the server still has the same file (If-Range), and what comes is looked at
    /// before it is written. If the file is another one by now, if the server sends the whole or something that does not
    /// fit, or if the part file is not as it was left, the download restarts.
    /// - Parameters:
    ///   - token: What was kept of the download.
    ///   - destination: Where the file goes; nil, the default, is where it was to go before, without replacing anything.
    ///   - fields: As in ``downloadTask(_:to:fields:download:options:)``. Those of the first time are not in the token.
    ///   - download: The options of the download.
    ///   - options: Options of its requests.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken`` if neither says where the file goes; for fields that are
    ///   not the caller's to set.
    public func downloadTask(
        resuming token: ResumeToken, to destination: Destination? = nil, fields: HTTPFields = HTTPFields(),
        download: DownloadTask.Options = DownloadTask.Options(), options: RequestOptions = RequestOptions()
    ) throws -> DownloadTask {
        guard let place = destination ?? token.destination.map({ Destination.file($0) }) else {
            throw ResumeToken.invalid("it does not say where the file goes")
        }
        let request = CurlewRequest(.get, token.uri, fields: fields, options: options)
        return try downloadTask(request, to: place, download, token: token)
    }

    /// Downloads into a file. Cancelling the calling task cancels the download.
    ///
    /// ```swift
    /// let file = try await api.download("disc.iso", to: .folder("/tmp"), integrity: .sha256(published), attempts: 6) { progress in
    ///     bar.show(progress.received.fraction)
    /// }
    /// print(file.path, file.size)
    /// ```
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to the session's base.
    ///   - destination: Where the file goes.
    ///   - integrity: What the file must be; nil is what `download` says.
    ///   - attempts: The most attempts, the first included: the download resumes after one that broke off. nil is what `download` says.
    ///   - tokenFile: The path of a file that keeps a ``ResumeToken`` while the download is under way. If a token of the same URL and
    ///     destination is there, as after a process that was killed, the download resumes, and otherwise it starts. A file that was whole
    ///     before, and is as `integrity` asks for, is returned without a request. nil is what `download` says (``DownloadTask/Options/tokenFile``), and never resumes.
    ///   - fields: As in ``downloadTask(_:to:fields:download:options:)``.
    ///   - timeout: A deadline over all of it.
    ///   - download: The options of the download.
    ///   - options: Options of its requests.
    ///   - progress: Called with the newest progress, on no executor in particular.
    /// - Throws: ``CurlewError``, as ``DownloadTask/file()`` does.
    public func download(
        _ reference: URIReference, to destination: Destination, integrity: IntegrityRequirement? = nil,
        attempts: Int? = nil, tokenFile: String? = nil, fields: HTTPFields = HTTPFields(), timeout: Duration? = nil,
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
        }
        options = options.limited(to: CallScope.current)
        let request = CurlewRequest(.get, try resolve(reference), fields: fields, options: options)
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

    /// The token in a file, if it is of a URL and a destination.
    /// - Throws: ``CurlewError`` for a file that cannot be read. A file that holds no token is overwritten.
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
            throw CurlewError(.invalidRequest, "a download makes its own \(name.rawName)")
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
    /// The file of a download that is finished; nil if it is not as the requirement asks for.
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
