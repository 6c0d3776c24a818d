public import HTTPTypes

extension HTTPSession {
    /// Has parameters put into a request and sends it through the chain.
    ///
    /// ```swift
    /// let bird = try await api.send(
    ///     .put, "birds/7", parameters: RequestParameters(bird), serializer: JSONRequestSerializer(), response: .json(Bird.self))
    /// ```
    /// - Parameters:
    ///   - method: The method.
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - parameters: The parameters.
    ///   - placement: Where they go; by the method unless said otherwise.
    ///   - serializer: What writes them; nil stands for ``requestSerializer``.
    ///   - fields: Fields of this call; they replace the session's and the serializer's of the same name.
    ///   - options: Options of this call; what is nil is the session's.
    ///   - response: What becomes of the response; it is brought as it is unless said otherwise.
    /// - Throws: ``CurlewError``; ``ErrorCode/encodingFailed`` if the parameters cannot be written, and then nothing was
    ///   sent. What a serializer's own closure throws is thrown as it is.
    public func send<Result: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: String, parameters: RequestParameters,
        placement: RequestParameters.Placement = .automatic, serializer: (any RequestSerializer)? = nil,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        let request = CurlewRequest(method, try resolve(reference), fields: fields, options: options)
        return try await response.intercept(request) { request in
            let call = prepare(request, parameters: parameters, placement: placement)
            do {
                return try await (serializer ?? requestSerializer).intercept(call) { try await send($0) }
            } catch let error as CurlewError where error.stage == .preparing && error.uri == nil {
                throw error.adding(CurlewError.Context(method: method, uri: call.request.uri))
            }
        }
    }

    /// The request that such a call would send, the session's default fields included: to be changed, sent later, or shown
    /// by ``CurlewRequest/curlCommand(maskingSecrets:)``.
    public func request(
        _ method: HTTPRequest.Method, _ reference: String, parameters: RequestParameters,
        placement: RequestParameters.Placement = .automatic, serializer: (any RequestSerializer)? = nil,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) throws -> CurlewRequest {
        let request = CurlewRequest(method, try resolve(reference), fields: fields, options: options)
        return try (serializer ?? requestSerializer).serialize(
            prepare(request, parameters: parameters, placement: placement))
    }

    private func prepare(
        _ request: CurlewRequest, parameters: RequestParameters, placement: RequestParameters.Placement
    ) -> ParameterizedRequest {
        var request = request
        // Before the serializer's, which give way to them.
        addDefaultFields(to: &request)
        return ParameterizedRequest(request, parameters: parameters, placement: placement)
    }
}
