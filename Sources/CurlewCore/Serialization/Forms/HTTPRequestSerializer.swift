internal import FoundationEssentials
public import HTTPTypes

/// Writes parameters as a query or a form: the default of a session.
///
/// - Methods in ``methodsWithQuery`` have the parameters in the query of the URI: after `?`, or after `&` if there is a
///   query, always before a fragment. Empty parameters add nothing.
/// - Other methods have the parameters in the body, with the Content-Type `application/x-www-form-urlencoded` unless
///   the request has one. Without parameters the body is empty and has the same type.
/// - ``defaultFields`` are added if the request has no field of that name.
///
/// The top of the parameters must be a dictionary. Otherwise the serializer throws an error, and no request is sent.
/// The same applies to a request that already has a body and would get another.
///
/// ```swift
/// var serializer = HTTPRequestSerializer()
/// serializer.style.arrays = .indexed
/// serializer.style.booleans = .literal
/// ```
public struct HTTPRequestSerializer: RequestSerializer {
    /// Writes parameters as a query instead of ``style``.
    public typealias QueryEncoder = @Sendable (CurlewRequest, ParameterValue) throws -> String

    /// The fields for requests that do not have them. ``standardFields`` by default; setting a field to nil removes it.
    public var defaultFields: HTTPFields
    /// The methods whose parameters are written into the query, in any letter case. GET, HEAD and DELETE by default.
    public var methodsWithQuery: Set<HTTPRequest.Method> = [.get, .head, .delete]
    /// The style of the pairs.
    public var style: RequestParameters.Style
    /// The encoder that turns `Encodable` values into parameters.
    public var encoder = ParameterEncoder()
    /// Writes queries and forms instead of ``style``, if set. It is called only with parameters. Its error is the
    /// ``CurlewError/underlying`` error of the call, and no request is sent.
    public var queryEncoder: QueryEncoder?

    /// - Parameters:
    ///   - style: The style of the pairs; AFNetworking's by default.
    ///   - defaultFields: The fields for requests that do not have them.
    public init(
        style: RequestParameters.Style = RequestParameters.Style(),
        defaultFields: HTTPFields = HTTPRequestSerializer.standardFields
    ) {
        self.style = style
        self.defaultFields = defaultFields
    }

    public func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
        let parameters = try call.parameters.pairs(encodedBy: encoder)
        var request = requestWithDefaults(call)
        let text = try parameters.map { try query(of: $0, for: request) }
        if placesInQuery(call) {
            if let text, !text.isEmpty { request.uri = try request.uri.appending(query: text) }
        } else if text != nil || request.body.isNone {
            try request.take(.bytes(text ?? []), contentType: "application/x-www-form-urlencoded")
        }
        return request
    }

    private func query(of parameters: ParameterValue, for request: CurlewRequest) throws -> [UInt8] {
        if let queryEncoder { return Array(try queryEncoder(request, parameters).utf8) }
        do throws(ParameterFailure) { return try style.form(of: parameters) } catch { throw error.curlewError }
    }

    /// True if the parameters of the call are written into the query.
    func placesInQuery(_ call: ParameterizedRequest) -> Bool {
        switch call.placement.kind {
        case .query: return true
        case .body: return false
        case .automatic:
            let method = call.request.method
            if methodsWithQuery.contains(method) { return true }
            let name = method.rawValue.uppercased()
            return methodsWithQuery.contains { $0.rawValue.uppercased() == name }
        }
    }

    func requestWithDefaults(_ call: ParameterizedRequest) -> CurlewRequest {
        var request = call.request
        let own = request.fields
        for field in defaultFields where !own.contains(field.name) { request.fields.append(field) }
        return request
    }
}

extension CurlewRequest {
    /// Sets the body that contains parameters.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` if the request already has a body.
    mutating func take(_ body: CurlewRequest.Body, contentType: String) throws {
        guard self.body.isNone else {
            throw CurlewError(.invalidRequest, "the request has a body already, so the parameters cannot be its body")
        }
        self.body = body
        if !fields.contains(.contentType) { fields[.contentType] = contentType }
    }
}

extension HTTPRequestSerializer {
    /// Sends these credentials with every request without an Authorization field: `Basic` with the Base 64 of
    /// `user:password` in UTF-8 (RFC 7617).
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a colon in the user's name, as it would become
    ///   part of the password, and for control characters in either (RFC 7617 §2).
    public mutating func setAuthorization(user: String, password: String) throws {
        let credentials = "\(user):\(password)"
        guard !user.utf8.contains(.colon) else {
            throw CurlewError(.invalidRequest, "a user's name with a colon cannot be sent as Basic credentials")
        }
        guard !credentials.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlewError(.invalidRequest, "the Basic credentials hold a control character")
        }
        defaultFields[.authorization] = "Basic \(Data(credentials.utf8).base64EncodedString())"
    }

    /// Stops sending credentials.
    public mutating func clearAuthorization() { defaultFields[.authorization] = nil }
}
