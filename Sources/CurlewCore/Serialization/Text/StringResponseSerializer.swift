extension ResponseSerializers {
    /// Decodes the body as text.
    ///
    /// A byte order mark decides the encoding. Without one the `charset` of Content-Type decides, by the labels of the
    /// WHATWG Encoding Standard (``Encoding/init(name:)``). Without both, ``defaultEncoding`` is used. The serializer
    /// accepts any media type; an empty body is an empty string.
    public struct Text: BodyResponseSerializer {
        /// The treatment of bytes that are invalid in their encoding.
        public struct InvalidBytes: Sendable, Hashable {
            let repairs: Bool

            /// Invalid bytes are ``ErrorCode/decodingFailed``.
            public static let fail = InvalidBytes(repairs: false)
            /// Invalid bytes become U+FFFD.
            public static let replace = InvalidBytes(repairs: true)
        }

        public var acceptance = ResponseAcceptance(.any)
        /// The encoding of a response that names none. UTF-8 by default.
        public var defaultEncoding: ResponseSerializers.Text.Encoding
        /// The encoding of a response that names an unknown one. With nil, the default, it is
        /// ``ErrorCode/decodingFailed``.
        public var encodingIfUnknown: ResponseSerializers.Text.Encoding?
        /// The treatment of invalid bytes.
        public var invalidBytes: InvalidBytes

        public init(
            defaultEncoding: ResponseSerializers.Text.Encoding = .utf8,
            encodingIfUnknown: ResponseSerializers.Text.Encoding? = nil,
            invalidBytes: InvalidBytes = .fail
        ) {
            self.defaultEncoding = defaultEncoding
            self.encodingIfUnknown = encodingIfUnknown
            self.invalidBytes = invalidBytes
        }

        public var format: String { "text" }

        public func decode(_ response: CurlewResponse.Collected) throws -> String {
            try encoding(of: response).decode(response.body[...], repairs: invalidBytes.repairs)
        }

        /// The encoding of a response.
        /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for an unknown label.
        func encoding(of response: CurlewResponse.Collected) throws -> ResponseSerializers.Text.Encoding {
            let name = response.mediaType?["charset"]
            let named = name.flatMap { ResponseSerializers.Text.Encoding(name: $0) }
            if let marked = ResponseSerializers.Text.Encoding.marked(response.body, labelled: named) { return marked }
            guard let name else { return defaultEncoding }
            guard let encoding = named ?? encodingIfUnknown else {
                throw CharsetLabels.unknown(name, of: "the response")
            }
            return encoding
        }
    }
}

extension ResponseSerializer where Self == ResponseSerializers.Text {
    /// The body as text.
    public static var text: ResponseSerializers.Text { ResponseSerializers.Text() }
}
