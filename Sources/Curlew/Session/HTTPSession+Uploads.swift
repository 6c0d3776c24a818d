public import HTTPTypes

/// Uploads: the verbs with a body, with what users of large ones want beside it. Their tasks are of the kind
/// ``TaskActor/Kind/upload``.
extension HTTPSession {
    /// Sends a body.
    ///
    /// ```swift
    /// let progress = CallProgress()
    /// Task { for await step in progress { print(step.progress.sent.fraction ?? 0) } }
    /// let response = try await api.upload("recordings", from: body, progress: progress)
    /// ```
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - method: The method.
    ///   - body: What is sent. Redirects, authentication and retries send it again only if it can be
    ///     (``CurlewRequest/Body/isReplayable``).
    ///   - fields: Fields of this call; they replace defaults of the same name.
    ///   - options: Options of this call; what is nil is the session's.
    ///   - progress: Follows the call over all its sendings.
    ///   - response: What becomes of the response; it is brought as it is unless said otherwise.
    /// - Throws: ``CurlewError``; ``ErrorCode/bodyNotReplayable``, ``ErrorCode/bodyFailed`` and
    ///   ``ErrorCode/bodyLengthMismatch`` for a body that cannot be sent, or not again, or is not what it was.
    public func upload<Result: ResponseSerializer>(
        _ reference: String, method: HTTPRequest.Method = .post, from body: CurlewRequest.Body,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(), progress: CallProgress? = nil,
        response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        defer { progress?.finish() }
        let options = options.uploading(progress)
        let request = CurlewRequest(method, try resolve(reference), fields: fields, body: body, options: options)
        return try await send(request, serializer: response)
    }

    /// Sends a file, with the media type that belongs to its name unless `fields` has another.
    ///
    /// It must stay as it is until the call is over; see ``CurlewRequest/Body/file(_:offset:length:)``.
    public func upload<Result: ResponseSerializer>(
        _ reference: String, method: HTTPRequest.Method = .post, file path: String,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(), progress: CallProgress? = nil,
        response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = MultipartFormData.contentType(forFileNamed: path) }
        return try await upload(
            reference, method: method, from: .file(path), fields: fields, options: options, progress: progress,
            response: response)
    }

    /// Sends a form, as ``send(_:_:multipart:parameters:placement:fields:options:response:)`` does.
    public func upload<Result: ResponseSerializer>(
        _ reference: String, method: HTTPRequest.Method = .post, multipart form: MultipartFormData,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(), progress: CallProgress? = nil,
        response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        defer { progress?.finish() }
        return try await send(
            method, reference, multipart: form, fields: fields, options: options.uploading(progress),
            response: response)
    }
}

extension RequestOptions {
    fileprivate func uploading(_ progress: CallProgress?) -> RequestOptions {
        var options = self
        options.kind = .upload
        if let progress { progress.follow(&options) }
        return options
    }
}
