public import HTTPTypes

/// Uploads: POST and other verbs with a large body, and its progress. Their tasks are of the kind ``TaskActor/Kind/upload``.
///
/// ```swift
/// let receipt = try await api.upload("recordings", file: path, as: Receipt.self) { progress in
///     bar.show(progress.sent.fraction)
/// }
/// ```
extension HTTPSession {
    /// Sends a body, and brings the response as it came.
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - method: The method.
    ///   - source: What is sent. Redirects, authentication and retries send it again only if it can be
    ///     (``CurlewRequest/Body/isReplayable``).
    ///   - fields: Fields of this call; they replace defaults of the same name.
    ///   - timeout: A deadline over the whole call.
    ///   - options: Options of this call; what is nil is the session's.
    ///   - progress: Called with the newest progress, over all sendings of the call, on no executor in particular; until the body of
    ///     the response has ended, which may be after the call returns.
    /// - Throws: ``CurlewError``; ``ErrorCode/bodyNotReplayable``, ``ErrorCode/bodyFailed`` and
    ///   ``ErrorCode/bodyLengthMismatch`` for a body that cannot be sent, or not again, or is not what it was.
    public func upload(
        _ reference: URIReference, method: HTTPRequest.Method = .post, from source: UploadBody,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await following(progress, options) { options in
            try await send(
                method, reference, source.content, fields: source.complete(fields), timeout: timeout, options: options)
        }
    }

    /// Sends a body and decodes the answer from JSON; see ``upload(_:method:from:fields:timeout:options:progress:)``.
    public func upload<Value: Decodable & Sendable>(
        _ reference: URIReference, method: HTTPRequest.Method = .post, from source: UploadBody,
        as type: Value.Type, fields: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            reference, method: method, from: source, as: .model(type), fields: fields, timeout: timeout,
            options: options,
            progress: progress)
    }

    /// Sends a body and makes a value of the answer; see ``upload(_:method:from:fields:timeout:options:progress:)``.
    public func upload<Serializer: ResponseSerializer>(
        _ reference: URIReference, method: HTTPRequest.Method = .post, from source: UploadBody,
        as serializer: Serializer, fields: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await following(progress, options) { options in
            try await send(
                method, reference, source.content, as: serializer, fields: source.complete(fields), timeout: timeout,
                options: options)
        }
    }

    private func following<Result>(
        _ progress: (@Sendable (TaskProgress) -> Void)?, _ options: RequestOptions,
        _ send: (RequestOptions) async throws -> Result
    ) async throws -> Result {
        var options = options
        options.kind = .upload
        guard let progress else { return try await send(options) }
        let steps = CallProgress()
        steps.follow(&options)
        defer { steps.finish() }
        // Not waited for: a task ends when the body of its response is read, which the caller may do with what is returned here.
        Task { for await step in steps { progress(step.progress) } }
        return try await send(options)
    }
}

extension HTTPSession {
    /// What an upload sends.
    public struct UploadBody: Sendable {
        let content: RequestContent
        private let contentType: String?

        /// A file, with the media type that belongs to its name unless the fields have another. It must stay as it is until the
        /// call is over; see ``CurlewRequest/Body/file(_:offset:length:)``.
        public static func file(_ path: String) -> UploadBody {
            UploadBody(
                content: RequestContent(body: .file(path)),
                contentType: MultipartFormData.contentType(forFileNamed: path))
        }

        /// A body of any kind.
        public static func body(_ body: CurlewRequest.Body) -> UploadBody {
            UploadBody(content: RequestContent(body: body), contentType: nil)
        }

        /// A form.
        public static func multipart(_ form: MultipartFormData) -> UploadBody {
            UploadBody(content: RequestContent(multipart: form), contentType: nil)
        }

        fileprivate func complete(_ fields: HTTPFields) -> HTTPFields {
            guard let contentType, fields[.contentType] == nil else { return fields }
            var fields = fields
            fields[.contentType] = contentType
            return fields
        }
    }
}
