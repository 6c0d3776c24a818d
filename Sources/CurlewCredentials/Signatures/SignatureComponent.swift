internal import Curlew
public import HTTPTypes

extension MessageSignature {
    /// A part of a message that a signature covers (RFC 9421 §2).
    ///
    /// ```swift
    /// let covered: [MessageSignature.Component] = [.method, .targetURI, .field(.contentType), .queryParameter("page")]
    /// ```
    public struct Component: Sendable {
        /// The name in quotes with its parameters, as in a signature.
        let item: StructuredField.Item

        init(item: StructuredField.Item) { self.item = item }

        private init(derived name: String) { item = StructuredField.Item(value: .string(name)) }

        /// The method of a request.
        public static let method = Component(derived: "@method")
        /// The complete URI of a request, without its fragment. The host is that of the field Host: in the letter case
        /// of the request, without user information and without the default port of the scheme.
        public static let targetURI = Component(derived: "@target-uri")
        /// The host of a request in lower case, and its port unless it is the default port of the scheme.
        public static let authority = Component(derived: "@authority")
        /// The scheme of a request in lower case.
        public static let scheme = Component(derived: "@scheme")
        /// The target of a request as in its first line in HTTP/1.1: usually path and query.
        public static let requestTarget = Component(derived: "@request-target")
        /// The path of a request.
        public static let path = Component(derived: "@path")
        /// The query of a request with its question mark.
        public static let query = Component(derived: "@query")
        /// The digest of the content (RFC 9530): the field Content-Digest.
        public static let contentDigest = Component.field(HTTPField.Name.contentDigest)
        /// The status code of a response.
        public static let status = Component(derived: "@status")

        /// A parameter of the query, by its name without encoding. The query must contain it exactly once.
        public static func queryParameter(_ name: String) -> Component {
            let encoded = PercentEncoding.encodeForm(name, spaceIsPlus: false)
            return Component(derived: "@query-param").adding("name", .string(encoded))
        }

        /// The values of a field, separated by commas.
        public static func field(_ name: HTTPField.Name) -> Component { Component(derived: name.canonicalName) }

        /// The field's structured value in its canonical form (`sf`), so that intermediaries may change white space.
        public var structured: Component { adding("sf", .boolean(true)) }

        /// A member of a field that is a dictionary (`key`).
        public func member(_ key: String) -> Component { adding("key", .string(key)) }

        /// The bytes of each value of the field (`bs`), so that several values are never confused with one value.
        public var wrapped: Component { adding("bs", .boolean(true)) }

        /// The same field of the trailers (`tr`).
        public var ofTrailers: Component { adding("tr", .boolean(true)) }

        /// The same component of the response's request (`req`).
        public var ofRequest: Component { adding("req", .boolean(true)) }

        private func adding(_ key: String, _ value: StructuredField.BareItem) -> Component {
            guard item.parameters[key] == nil else { return self }
            var item = item
            item.parameters.append(StructuredField.Parameter(key: key, value: value))
            return Component(item: item)
        }

        /// The largest number of components of a signature.
        static let limit = 64

        /// True if the name and its parameters are printable ASCII, as a signature requires.
        var isWritable: Bool {
            ([item.value] + item.parameters.map(\.value)).allSatisfy { value in
                if case .string(let text) = value { text.isPrintableASCII } else { true }
            }
        }

        /// True if the component is the complete field Content-Digest of the message itself.
        var isContentDigest: Bool {
            name.hasSameBytes(as: HTTPField.Name.contentDigest.canonicalName)
                && !item.parameters.contains { ["key", "tr", "req"].contains($0.key) }
        }

        /// The name without parameters.
        var name: String {
            guard case .string(let name) = item.value else { return "" }
            return name
        }
    }
}

/// Components that differ only in the order of their parameters are equal.
extension MessageSignature.Component: Hashable {
    private var identity: [String] { [item.value.text] + item.parameters.map { [$0].text }.sorted() }

    public static func == (one: Self, other: Self) -> Bool { one.identity == other.identity }

    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension MessageSignature.Component: CustomStringConvertible {
    /// The component as in a signature: `"@query-param";name="page"`.
    public var description: String { item.text }
}
