internal import HTTPTypes

/// Writes a form into a request, with the call's parameters before its parts.
///
/// - Every method but GET and HEAD may have a form; for these two the error is ``ErrorCode/invalidRequest``.
/// - The Content-Type is ``MultipartFormData/contentType``. A multipart Content-Type of the request, such as
///   `multipart/mixed` or one with further parameters, stays and gets the form's boundary. Any other is replaced, as it
///   does not describe the body.
/// - Parameters become parts in the order of pairs, before those of ``form``. With
///   ``RequestParameters/Placement/query`` they are written into the query.
/// - Without any part, ``base`` makes the request: an empty form.
/// - The files of the form are checked again; a changed file fails the call before any byte is sent.
///
/// ```swift
/// let serializer = MultipartRequestSerializer(form)
/// let response = try await api.send(
///     .put, "sightings/7", parameters: RequestParameters(bird), encoding: .serializer(serializer))
/// ```
public struct MultipartRequestSerializer: RequestSerializer {
    /// The parts.
    public var form: MultipartFormData
    /// The serializer whose style names and writes parameters, and whose default fields are used.
    public var base: HTTPRequestSerializer

    public init(_ form: MultipartFormData, base: HTTPRequestSerializer = HTTPRequestSerializer()) {
        self.form = form
        self.base = base
    }

    public func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
        let method = call.request.method.rawValue.uppercased()
        guard method != "GET", method != "HEAD" else {
            throw CurlewError(.invalidRequest, "a \(method) has no body, so it cannot carry a form")
        }
        let form = try formWithParameters(of: call)
        guard !form.isEmpty else { return try base.serialize(call) }
        try form.verifyFiles()
        var request = try requestWithoutBody(call)
        guard request.body.isNone else {
            throw CurlewError(.invalidRequest, "the request has a body already, so the form cannot be its body")
        }
        request.fields[.contentType] = Self.contentType(request.fields[.contentType], of: form)
        request.body = form.body
        return request
    }

    /// The form with the parameters as its first parts.
    private func formWithParameters(of call: ParameterizedRequest) throws -> MultipartFormData {
        guard call.placement != .query, let parameters = try call.parameters.pairs(encodedBy: base.encoder) else {
            return form
        }
        var whole = form.withoutParts
        try whole.append(parameters: parameters, style: base.style)
        try whole.append(contentsOf: form)
        return whole
    }

    private func requestWithoutBody(_ call: ParameterizedRequest) throws -> CurlewRequest {
        call.placement == .query ? try base.serialize(call) : base.requestWithDefaults(call)
    }

    /// The Content-Type, which always has the boundary, whatever the call, the session or the serializer set.
    private static func contentType(_ given: String?, of form: MultipartFormData) -> String {
        guard let given = given.flatMap({ ContentType($0) }), given.type == "multipart" else { return form.contentType }
        let others = given.parameters.filter { $0.name != "boundary" }
        let boundary = ContentType.Parameter("boundary", form.boundary)
        return ContentType(
            "multipart", given.subtype, parameters: others.prefix(ContentType.parameterLimit - 1) + [boundary]
        )
        .description
    }
}
