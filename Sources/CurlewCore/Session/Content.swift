internal import HTTPTypes

extension CurlewRequest {
    /// The content of a request of any kind, as an argument of the verbs.
    ///
    /// ```swift
    /// try await api.post("orders", .json(order), as: Order.self)
    /// try await api.post("login", .form(["user": name, "password": password]), as: .nothing)
    /// try await api.put("photo", .file("/srv/photo.jpg"), as: .nothing)
    /// try await api.post("posts", .multipart { form in
    ///     form.append("A title", name: "title")
    ///     try form.append(.file("/srv/photo.jpg"), name: "photo", fileName: "photo.jpg")
    /// }, as: Post.self)
    /// ```
    ///
    /// A kind of your own is a static function that makes the bytes with ``encoded(as:_:)``:
    ///
    /// ```swift
    /// extension CurlewRequest.Content {
    ///     static func messagePack(_ value: some Encodable & Sendable) -> Self {
    ///         .encoded(as: "application/msgpack") { try MessagePackEncoder().encode(value) }
    ///     }
    /// }
    /// ```
    ///
    /// Each kind except ``body(_:type:)`` sets Content-Type, unless the fields of the call have one. The Content-Type
    /// of ``multipart(parameters:_:)`` always contains the boundary.
    public struct Content: Sendable {
        enum Kind: Sendable {
            case none
            case body(CurlewRequest.Body)
            case encoded(@Sendable () throws -> [UInt8])
            case json(any Encodable & Sendable)
            case form(RequestParameters)
            case propertyList(RequestParameters)
            case multipart(RequestParameters, @Sendable (inout MultipartFormData) throws -> Void)
        }

        let kind: Kind
        /// The media type of a body; nil if it is not set or the kind has its own.
        let type: String?

        private init(_ kind: Kind, type: String? = nil) {
            self.kind = kind
            self.type = type
        }

        /// The default method of a stream that is requested with this content.
        var usualMethod: HTTPRequest.Method { if case .none = kind { .get } else { .post } }

        /// No content.
        public static let none = Content(.none)

        /// A value as JSON, in the dialect of the session (``HTTPSession/json``). An optional that is nil is `null`.
        public static func json(_ value: some Encodable & Sendable) -> Content { Content(.json(value)) }

        /// Pairs as a form (`application/x-www-form-urlencoded`), in the style of the session's serializer.
        public static func form(_ parameters: RequestParameters) -> Content { Content(.form(parameters)) }

        /// A property list.
        public static func propertyList(_ parameters: RequestParameters) -> Content {
            Content(.propertyList(parameters))
        }

        /// A form with parts (`multipart/form-data`).
        /// - Parameters:
        ///   - parameters: The first parts, in the style of the session's serializer, as in AFNetworking's
        ///     `POST:parameters:constructingBodyWithBlock:`.
        ///   - build: Adds the parts. It runs when the call begins; in streams, when each iterator begins. The verb
        ///     throws its error: a ``CurlewError`` unchanged, another error as ``CurlewError/underlying`` of
        ///     ``ErrorCode/encodingFailed``.
        public static func multipart(
            parameters: RequestParameters = .none,
            _ build: @escaping @Sendable (inout MultipartFormData) throws -> Void
        ) -> Content {
            Content(.multipart(parameters, build))
        }

        /// A form with parts that already exists.
        public static func multipart(_ form: MultipartFormData) -> Content { Content(.multipart(.none) { $0 = form }) }

        /// Text as UTF-8.
        public static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Content {
            Content(.body(.string(text)), type: type)
        }

        /// Bytes in memory.
        public static func bytes(_ bytes: [UInt8], type: String = "application/octet-stream") -> Content {
            Content(.body(.bytes(bytes)), type: type)
        }

        /// A file; see ``CurlewRequest/Body/file(_:offset:length:)``. The file must not change before the call has
        /// ended.
        /// - Parameters:
        ///   - path: The path of the file.
        ///   - type: The media type; nil derives it from the extension of the file's name.
        public static func file(_ path: String, type: String? = nil) -> Content {
            Content(.body(.file(path)), type: type ?? MultipartFormData.contentType(forFileNamed: path))
        }

        /// A stream that is made again for each attempt; see `CurlewRequest.Body.stream(length:_:)`.
        public static func stream<S: AsyncSequence & Sendable>(
            length: Int64? = nil, type: String = "application/octet-stream",
            _ make: @escaping @Sendable () async throws -> S
        ) -> Content where S.Element == [UInt8] {
            Content(.body(.stream(length: length, make)), type: type)
        }

        /// A body of any kind, without a Content-Type unless `type` or the fields of the call have one.
        public static func body(_ body: CurlewRequest.Body, type: String? = nil) -> Content {
            body.isNone ? .none : Content(.body(body), type: type)
        }

        /// Bytes that a closure encodes. The closure runs when the call begins; the verb throws its error as for
        /// ``multipart(parameters:_:)``.
        /// - Parameters:
        ///   - type: The media type, such as `application/msgpack`.
        ///   - encode: Makes the bytes.
        public static func encoded(as type: String, _ encode: @escaping @Sendable () throws -> [UInt8]) -> Content {
            Content(.encoded(encode), type: type)
        }
    }
}
