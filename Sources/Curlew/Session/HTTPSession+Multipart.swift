public import HTTPTypes

/// The verbs that send a form. They call ``send(_:_:multipart:parameters:placement:fields:options:response:)``, which has the
/// rules.
extension HTTPSession {
    /// Posts a form.
    ///
    /// ```swift
    /// var form = MultipartFormData()
    /// try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
    /// let response = try await api.post("sightings", multipart: form)
    /// ```
    public func post<Result: ResponseSerializer>(
        _ reference: String, multipart form: MultipartFormData, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(.post, reference, multipart: form, fields: fields, options: options, response: response)
    }

    /// Posts parameters, then the parts that `build` appends.
    ///
    /// ```swift
    /// let response = try await api.post("sightings", parameters: ["species": "curlew"]) { form in
    ///     try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
    /// }
    /// ```
    public func post<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer(),
        multipart build: (inout MultipartFormData) throws -> Void
    ) async throws -> Result.Output {
        var form = MultipartFormData()
        try build(&form)
        return try await send(
            .post, reference, multipart: form, parameters: RequestParameters(parameters), fields: fields,
            options: options,
            response: response)
    }

    /// Posts the parameters that a value encodes itself as, then the parts that `build` appends.
    public func post<Result: ResponseSerializer>(
        _ reference: String, parameters: (some Encodable & Sendable)?, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer(),
        multipart build: (inout MultipartFormData) throws -> Void
    ) async throws -> Result.Output {
        var form = MultipartFormData()
        try build(&form)
        return try await send(
            .post, reference, multipart: form, parameters: RequestParameters(parameters), fields: fields,
            options: options,
            response: response)
    }

    /// Sends a form with any method but GET and HEAD, as ``MultipartRequestSerializer`` puts it into the request.
    /// - Parameters:
    ///   - method: The method.
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - form: The parts.
    ///   - parameters: Parameters, which become parts before those of `form`. They are written as the session's
    ///     ``requestSerializer`` would write them into a query, if it is one of this library's.
    ///   - placement: ``RequestParameters/Placement/query`` puts the parameters into the query instead.
    ///   - fields: Fields of this call. A Content-Type among them does not lose the boundary.
    ///   - options: Options of this call; `onTask` has the task whose ``TaskActor/progress`` counts what was sent.
    ///   - response: What becomes of the response; it is brought as it is unless said otherwise.
    /// - Throws: ``CurlewError``; before anything is sent ``ErrorCode/encodingFailed`` for parameters that cannot be written,
    ///   ``ErrorCode/bodyFailed`` and ``ErrorCode/bodyLengthMismatch`` for a file that is gone or has changed.
    public func send<Result: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: String, multipart form: MultipartFormData,
        parameters: RequestParameters = .none, placement: RequestParameters.Placement = .automatic,
        fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            method, reference, parameters: parameters, placement: placement,
            serializer: MultipartRequestSerializer(form, base: pairSerializer), fields: fields, options: options,
            response: response)
    }

    /// What writes pairs in this session.
    private var pairSerializer: HTTPRequestSerializer {
        switch requestSerializer {
        case let serializer as HTTPRequestSerializer: serializer
        case let serializer as JSONRequestSerializer: serializer.base
        case let serializer as PropertyListRequestSerializer: serializer.base
        case let serializer as MultipartRequestSerializer: serializer.base
        default: HTTPRequestSerializer()
        }
    }
}
