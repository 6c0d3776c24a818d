extension ResponseSerializers {
    /// Reads the body as text.
    ///
    /// A byte order mark decides the encoding. Without one it is the `charset` of Content-Type, by the labels of the WHATWG Encoding
    /// Standard (``Encoding/init(name:)``), and without that ``defaultEncoding``. It takes any media type, and an empty body is an empty
    /// string.
    public struct Text: BodyResponseSerializer {
        /// The treatment of bytes that are not valid in their encoding.
        public struct InvalidBytes: Sendable, Hashable {
            let repairs: Bool

            /// They are ``ErrorCode/decodingFailed``.
            public static let fail = InvalidBytes(repairs: false)
            /// They become U+FFFD.
            public static let replace = InvalidBytes(repairs: true)
        }

        public var acceptance = ResponseAcceptance(.any)
        /// The encoding where nothing names one. UTF-8 by default.
        public var defaultEncoding: ResponseSerializers.Text.Encoding
        /// The encoding where one is named that is not known. nil, the default, makes that ``ErrorCode/decodingFailed``.
        public var encodingIfUnknown: ResponseSerializers.Text.Encoding?
        /// The treatment of bytes that are not valid.
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
