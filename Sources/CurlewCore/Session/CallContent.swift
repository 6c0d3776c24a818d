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

        /// The rule of the session's ``HTTPSession/requestSerializer``. The default one does as AFNetworking: a query
        /// for GET, HEAD and DELETE, a form in the body for other methods.
        public static let automatic = Encoding(kind: .automatic, placement: .automatic)
        /// A query, whatever the method.
        public static let query = Encoding(kind: .pairs, placement: .query)
        /// A form in the body (`application/x-www-form-urlencoded`), whatever the method.
        public static let form = Encoding(kind: .pairs, placement: .body)
        /// JSON in the body, by the session's ``HTTPSession/json``; a query for GET, HEAD and DELETE.
        public static let json = Encoding(kind: .json, placement: .automatic)
        /// A property list in the body; a query for GET, HEAD and DELETE.
        public static let propertyList = Encoding(kind: .propertyList, placement: .automatic)

        /// Parts of a form (`multipart/form-data`). The parameters precede them as parts, in the style of the session's
        /// serializer. With ``RequestParameters/Placement/query`` the parameters go into the query instead.
        public static func multipart(_ form: MultipartFormData, placement: Placement = .automatic) -> Encoding {
            Encoding(kind: .multipart(form), placement: placement)
        }

        /// The rule of a serializer of any kind.
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

/// The content of a call: its body, the parameters that a serializer puts into the request, and its query.
package struct CallContent: Sendable {
    package var content = CurlewRequest.Content.none
    var parameters = RequestParameters.none
    var encoding = RequestParameters.Encoding.automatic
    package var query = RequestParameters.none

    package init(_ content: CurlewRequest.Content = .none, query: RequestParameters = .none) {
        self.content = content
        self.query = query
    }

    package init(
        _ parameters: RequestParameters, _ encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none
    ) {
        self.parameters = parameters
        self.encoding = encoding
        self.query = query
    }

    /// True if a serializer has something to put into the request.
    fileprivate var needsSerializer: Bool {
        if !parameters.isNone || !encoding.isAutomatic || !query.isNone { return true }
        switch content.kind {
        case .form, .propertyList, .multipart: return true
        case .none, .body, .encoded, .json: return false
        }
    }
}

/// The arguments of a call that control its transfer.
package struct CallSettings {
    package var fields: HTTPFields
    var credential: Credential?
    package var timeout: Duration?
    package var options: RequestOptions

    package init(_ fields: HTTPFields, _ credential: Credential?, _ timeout: Duration?, _ options: RequestOptions) {
        self.fields = fields
        self.credential = credential
        self.timeout = timeout
        self.options = options
    }
}

extension HTTPSession {
    /// Sends the request of a verb, and waits for the head of the response.
    ///
    /// The function is not inlined: otherwise each verb would keep these locals in its frame while the call waits.
    @inline(never)
    package func call(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: CallContent, _ settings: CallSettings
    ) async throws -> CurlewResponse {
        try await send(request(method, reference, settings), content)
    }

    /// Sends the request of a verb, and makes a value of the response.
    func call<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: CallContent, as serializer: Serializer,
        _ settings: CallSettings
    ) async throws -> Serializer.Output {
        let request = try request(method, reference, settings)
        do {
            return try await serializer.intercept(request) { try await send($0, content) }
        } catch {
            throw CurlewError(wrapping: error, request)
        }
    }

    package func request(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ settings: CallSettings
    ) throws -> CurlewRequest {
        var request = try request(
            method, reference, fields: settings.fields, timeout: settings.timeout, options: settings.options)
        if let credential = settings.credential { try request.authorize(by: credential) }
        return request
    }

    /// The request of a call without content.
    @inline(never)
    func request(
        _ method: HTTPRequest.Method, _ reference: URIReference, fields: HTTPFields, timeout: Duration?,
        options: RequestOptions
    ) throws -> CurlewRequest {
        var options = options
        if let timeout { options.totalTimeout = timeout }
        return CurlewRequest(method, try resolve(reference), fields: fields, options: options)
    }

    func send(_ request: CurlewRequest, _ content: CallContent) async throws -> CurlewResponse {
        do {
            var request = try withBody(of: content, request)
            guard content.needsSerializer else { return try await send(request) }
            noteOwnSecrets(of: &request)
            let (serializer, call) = try serialization(of: content, in: request)
            return try await serializer.intercept(call) { try await send($0) }
        } catch {
            let failure = CurlewError(wrapping: error, request)
            guard failure.stage == .preparing, failure.uri == nil else { throw failure }
            throw failure.adding(request)
        }
    }

    /// The request that a call with this content would send, including the session's default fields. It can be changed,
    /// sent later, or printed by ``CurlewRequest/curlCommand(maskingSecrets:)``.
    func makeRequest(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: CallContent, _ settings: CallSettings
    ) throws -> CurlewRequest {
        var request = try request(method, reference, settings)
        noteOwnSecrets(of: &request)
        do {
            request = try withBody(of: content, request)
            guard content.needsSerializer else {
                addDefaultFields(to: &request)
                return request
            }
            let (serializer, call) = try serialization(of: content, in: request)
            return try serializer.serialize(call)
        } catch {
            throw CurlewError(wrapping: error, request)
        }
    }

    /// The request with its body, and the parameters that a link will put into it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for content that a link of parameters cannot add.
    func parameterized(_ request: CurlewRequest, _ content: CallContent) throws -> ParameterizedRequest {
        switch content.content.kind {
        case .multipart, .propertyList:
            throw CurlewError(
                .invalidRequest, "the first link of the endpoint takes parameters, and this content is none"
            )
            .adding(request)
        case .none, .body, .encoded, .json, .form: break
        }
        return try serialization(of: content, in: withBody(of: content, request)).1
    }

    /// The request with the body of its content, unless a serializer makes the body.
    private func withBody(of content: CallContent, _ request: CurlewRequest) throws -> CurlewRequest {
        var request = request
        switch content.content.kind {
        case .none, .form, .propertyList, .multipart: return request
        case .body(let body): request.body = body
        case .encoded(let encode): request.body = .bytes(try Self.encoding(encode))
        case .json(let value): request.body = .bytes(try throwingCurlewErrors { try json.encode(value) })
        }
        if case .json = content.content.kind {
            request.addContentType("application/json")
        } else if let type = content.content.type {
            request.addContentType(type)
        }
        return request
    }

    /// Runs a closure that makes content.
    private static func encoding<Value>(_ make: () throws -> Value) throws -> Value {
        do { return try make() } catch {
            if error is CurlewError || error is JSONCoding.Failure || error is CancellationError {
                throw CurlewError(wrapping: error)
            }
            throw CurlewError(.encodingFailed, "the content cannot be made", underlying: error)
        }
    }

    /// The serializer of a call's content, and the input of the serializer.
    private func serialization(
        of content: CallContent, in request: CurlewRequest
    ) throws -> (any RequestSerializer, ParameterizedRequest) {
        var request = request
        // The media type of the content takes precedence over the session's, as for contents that are bodies.
        switch content.content.kind {
        case .form: request.addContentType("application/x-www-form-urlencoded")
        case .propertyList: request.addContentType("application/x-plist")
        case .none, .body, .encoded, .json, .multipart: break
        }
        // The default fields are added before the serializer runs, which does not replace existing fields.
        addDefaultFields(to: &request)
        if !content.query.isNone {
            request = try pairSerializer.serialize(
                ParameterizedRequest(request, parameters: content.query, placement: .query))
        }
        switch content.content.kind {
        case .form(let pairs):
            return (pairSerializer, ParameterizedRequest(request, parameters: pairs, placement: .body))
        case .propertyList(let parameters):
            return (
                PropertyListRequestSerializer(base: pairSerializer),
                ParameterizedRequest(request, parameters: parameters, placement: .body)
            )
        case .multipart(let parameters, let build):
            let form = try Self.encoding {
                var form = MultipartFormData()
                form.json = json
                try build(&form)
                return form
            }
            return (
                MultipartRequestSerializer(form, base: pairSerializer),
                ParameterizedRequest(request, parameters: parameters, placement: .body)
            )
        case .none, .body, .encoded, .json: break
        }
        // A query alone makes no body, even if the session's serializer would make one of empty parameters.
        if content.parameters.isNone, content.encoding.isAutomatic {
            return (pairSerializer, ParameterizedRequest(request, parameters: .none, placement: .query))
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
        return (serializer, ParameterizedRequest(request, parameters: content.parameters, placement: placement))
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
    /// Adds the media type of the body, unless the fields have one.
    fileprivate mutating func addContentType(_ type: String) {
        if !fields.contains(.contentType) { fields[.contentType] = type }
    }

    /// Adds the credential of a call, in the scheme that needs no challenge: Bearer for a token, Basic for a password.
    fileprivate mutating func authorize(by credential: Credential) throws {
        fields[.authorization] = try credential.preemptiveValue
    }
}
