public import HTTPTypes

/// Uploads: POST and other verbs with large content and a progress closure. Their tasks have the kind
/// ``TaskActor/Kind/upload``.
///
/// ```swift
/// let receipt = try await api.upload("recordings", .file(path), as: Receipt.self) { progress in
///     bar.show(progress.sent.fraction)
/// }
/// ```
extension HTTPSession {
    /// Sends content, and returns the response unchanged.
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - content: The content, of any kind. Redirects, authentication and retries can repeat it only if
    ///     ``CurlewRequest/Body/isReplayable`` is true.
    ///   - method: The method.
    ///   - fields: Fields of this call; they replace defaults of the same name.
    ///   - credential: The credential of this call.
    ///   - timeout: A deadline over the call, including redirects and retries.
    ///   - options: Options of this call; an option that is nil is the session's.
    ///   - progress: Called with the newest progress, over all attempts of the call, on an unspecified executor. The
    ///     last value comes before the call returns; none follows.
    /// - Throws: ``CurlewError``; ``ErrorCode/bodyNotReplayable``, ``ErrorCode/bodyFailed`` and
    ///   ``ErrorCode/bodyLengthMismatch`` for a body that cannot be repeated, cannot be read, or has changed.
    public func upload(
        _ reference: URIReference, _ content: CurlewRequest.Content, method: HTTPRequest.Method = .post,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await following(progress, CallSettings(fields, credential, timeout, options)) { settings in
            try await call(method, reference, CallContent(content), settings)
        }
    }

    /// Sends content, and decodes the response from JSON; see
    /// ``upload(_:_:method:fields:credential:timeout:options:progress:)``.
    public func upload<Value: Decodable & Sendable>(
        _ reference: URIReference, _ content: CurlewRequest.Content, method: HTTPRequest.Method = .post,
        as type: Value.Type, fields: HTTPFields = HTTPFields(), credential: Credential? = nil,
        timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            reference, content, method: method, as: .model(type), fields: fields, credential: credential,
            timeout: timeout, options: options, progress: progress)
    }

    /// Sends content, and makes a value of the response; see
    /// ``upload(_:_:method:fields:credential:timeout:options:progress:)``.
    public func upload<Serializer: ResponseSerializer>(
        _ reference: URIReference, _ content: CurlewRequest.Content, method: HTTPRequest.Method = .post,
        as serializer: Serializer, fields: HTTPFields = HTTPFields(), credential: Credential? = nil,
        timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TaskProgress) -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await following(progress, CallSettings(fields, credential, timeout, options)) { settings in
            try await call(method, reference, CallContent(content), as: serializer, settings)
        }
    }

    private func following<Output: Sendable>(
        _ progress: (@Sendable (TaskProgress) -> Void)?, _ settings: CallSettings,
        _ send: (CallSettings) async throws -> Output
    ) async throws -> Output {
        var settings = settings
        settings.options.kind = .upload
        guard let progress else { return try await send(settings) }
        let steps = CallProgress()
        steps.follow(&settings.options)
        let newest = Guarded<TaskActor?>(nil)
        let before = settings.options.onTask
        settings.options.onTask = { task in
            before?(task)
            newest.withLock { $0 = task }
        }
        let shown = Task { () -> TaskProgress? in
            var last: TaskProgress?
            for await step in steps {
                last = step.progress
                progress(step.progress)
            }
            return last
        }
        let result: Result<Output, any Error>
        do { result = .success(try await send(settings)) } catch { result = .failure(error) }
        // The task of a response with an unread body continues, but its progress ends here with the call.
        steps.finish()
        shown.cancel()
        let last = await shown.value
        // The task keeps its options, and the options keep the box. Emptying the box breaks the cycle.
        if let end = await newest.withLock({ $0.take() })?.currentProgress, end != last { progress(end) }
        return try result.get()
    }
}
