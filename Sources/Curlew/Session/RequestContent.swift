internal import HTTPTypes

extension RequestParameters {
    /// The way in which parameters are put into a request.
    public struct Encoding: Sendable {
        enum Kind: Sendable {
            case automatic
            case pairs
            case json
            case propertyList
            indirect case multipart(MultipartFormData)
            case serializer(any RequestSerializer)
        }

        let kind: Kind
        let placement: Placement

        /// What the session's ``HTTPSession/requestSerializer`` does: as AFNetworking, a query for GET, HEAD and DELETE, a form
        /// in the body for others. Beside `json:`, `form:` or `body:` the parameters go into the query.
        public static let automatic = Encoding(kind: .automatic, placement: .automatic)
        /// A query, whatever the method.
        public static let query = Encoding(kind: .pairs, placement: .query)
        /// A form in the body (`application/x-www-form-urlencoded`), whatever the method.
        public static let form = Encoding(kind: .pairs, placement: .body)
        /// JSON in the body, by the session's ``HTTPSession/json``; a query for GET, HEAD and DELETE.
        public static let json = Encoding(kind: .json, placement: .automatic)
        /// A property list in the body; a query for GET, HEAD and DELETE.
        public static let propertyList = Encoding(kind: .propertyList, placement: .automatic)

        /// Parts of a form (`multipart/form-data`), before those that it has; written in the style of the session's serializer.
        /// With ``RequestParameters/Placement/query`` they go into the query beside the form.
        public static func multipart(_ form: MultipartFormData, placement: Placement = .automatic) -> Encoding {
            Encoding(kind: .multipart(form), placement: placement)
        }

        /// What a serializer of any kind does.
        public static func serializer(
            _ serializer: some RequestSerializer, placement: Placement = .automatic
        ) -> Encoding {
            Encoding(kind: .serializer(serializer), placement: placement)
        }

        var isAutomatic: Bool {
            if case .automatic = kind { true } else { false }
        }
    }
}

/// What goes into a request: at most one of a form, JSON, a body and parts, and parameters beside it.
struct RequestContent {
    var parameters = RequestParameters.none
    var encoding = RequestParameters.Encoding.automatic
    var form = RequestParameters.none
    var json: (any Encodable & Sendable)?
    var body = CurlewRequest.Body.none
    var multipart: MultipartFormData?

    /// The names of what is given for the body.
    private var bodies: [String] {
        var names: [String] = []
        if !form.isNone { names.append("form:") }
        if json != nil { names.append("json:") }
        if !body.isNone { names.append("body:") }
        if multipart != nil { names.append("a closure for parts") }
        return names
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` if there is more than one body.
    fileprivate func checkBodies() throws {
        guard bodies.count > 1 else { return }
        throw CurlewError(
            .invalidRequest, "a request has one body, and this one was given \(bodies.joined(separator: " and "))")
    }

    /// True if the request is as it is without them.
    fileprivate var hasParameters: Bool {
        !parameters.isNone || !encoding.isAutomatic || !form.isNone || multipart != nil
    }
}

extension HTTPSession {
    /// Sends what a verb was given, and waits for the head of the response.
    ///
    /// Not inlined: each verb would have all of this in its frame, which is kept as long as the call waits.
    @inline(never)
    func send(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: RequestContent, fields: HTTPFields,
        timeout: Duration?, options: RequestOptions
    ) async throws -> CurlewResponse {
        let request = try request(method, reference, fields: fields, timeout: timeout, options: options)
        return try await send(request, content)
    }

    /// Sends what a verb was given, and makes a value of the response.
    func send<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: RequestContent, as serializer: Serializer,
        fields: HTTPFields, timeout: Duration?, options: RequestOptions
    ) async throws -> Serializer.Output {
        let request = try request(method, reference, fields: fields, timeout: timeout, options: options)
        return try await serializer.intercept(request) { try await send($0, content) }
    }

    /// The request of a call that has no content.
    @inline(never)
    func request(
        _ method: HTTPRequest.Method, _ reference: URIReference, fields: HTTPFields, timeout: Duration?,
        options: RequestOptions
    ) throws -> CurlewRequest {
        var options = options
        if let timeout { options.totalTimeout = timeout }
        return CurlewRequest(method, try resolve(reference), fields: fields, options: options)
    }

    func send(_ request: CurlewRequest, _ content: RequestContent) async throws -> CurlewResponse {
        do {
            var request = try withBody(of: content, request)
            guard content.hasParameters else { return try await send(request) }
            noteOwnSecrets(of: &request)
            let (serializer, call) = try serialization(of: content, in: request)
            return try await serializer.intercept(call) { try await send($0) }
        } catch let error as CurlewError where error.stage == .preparing && error.uri == nil {
            throw error.adding(request)
        }
    }

    /// The request that a call with such content would send, the session's default fields included: to be changed, sent later,
    /// or shown by ``CurlewRequest/curlCommand(maskingSecrets:)``.
    func makeRequest(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: RequestContent, fields: HTTPFields,
        options: RequestOptions
    ) throws -> CurlewRequest {
        var request = CurlewRequest(method, try resolve(reference), fields: fields, options: options)
        noteOwnSecrets(of: &request)
        request = try withBody(of: content, request)
        guard content.hasParameters else {
            addDefaultFields(to: &request)
            return request
        }
        let (serializer, call) = try serialization(of: content, in: request)
        return try serializer.serialize(call)
    }

    /// The request with what is its body, and the parameters that a link is to put into it.
    func parameterized(_ request: CurlewRequest, _ content: RequestContent) throws -> ParameterizedRequest {
        try serialization(of: content, in: withBody(of: content, request)).1
    }

    /// The request with the body of its content, but for one that parameters make.
    private func withBody(of content: RequestContent, _ request: CurlewRequest) throws -> CurlewRequest {
        try content.checkBodies()
        var request = request
        if !content.body.isNone { request.body = content.body }
        if let value = content.json { try request.takeJSON(value, by: json) }
        return request
    }

    /// The serializer of a call's parameters, and what it gets.
    private func serialization(
        of content: RequestContent, in request: CurlewRequest
    ) throws -> (any RequestSerializer, ParameterizedRequest) {
        var request = request
        // Before the serializer's, which give way to them.
        addDefaultFields(to: &request)
        let parameters = content.parameters
        if !content.form.isNone {
            if !parameters.isNone {
                request = try pairSerializer.serialize(
                    ParameterizedRequest(request, parameters: parameters, placement: .query))
            }
            return (pairSerializer, ParameterizedRequest(request, parameters: content.form, placement: .body))
        }
        if let form = content.multipart {
            return (
                MultipartRequestSerializer(form, base: pairSerializer),
                ParameterizedRequest(request, parameters: parameters, placement: content.encoding.placement)
            )
        }
        var placement = content.encoding.placement
        if placement == .automatic, !request.body.isNone { placement = .query }
        let serializer: any RequestSerializer
        switch content.encoding.kind {
        case .automatic: serializer = placement == .query ? pairSerializer : requestSerializer
        case .pairs: serializer = pairSerializer
        case .json: serializer = json.serializer(over: pairSerializer)
        case .propertyList: serializer = PropertyListRequestSerializer(base: pairSerializer)
        case .multipart(let form): serializer = MultipartRequestSerializer(form, base: pairSerializer)
        case .serializer(let given): serializer = given
        }
        return (serializer, ParameterizedRequest(request, parameters: parameters, placement: placement))
    }

    /// The serializer of queries and forms in this session.
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

extension CurlewRequest {
    /// Puts a value into the body as JSON, with its Content-Type unless there is one.
    fileprivate mutating func takeJSON(_ value: any Encodable & Sendable, by coding: JSONCoding) throws {
        body = .bytes(try coding.encode(value))
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
    }
}
