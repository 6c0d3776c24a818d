public import Curlew
public import HTTPTypes

extension MessageSignature {
    /// A signature that a peer requests in the field Accept-Signature (RFC 9421 §5).
    public struct Wanted: Sendable, Hashable {
        /// The label that the signature must have.
        public let label: String
        /// The components that the signature must cover.
        public let components: [Component]
        /// True if the signature must contain its time.
        public let hasCreated: Bool
        /// True if the signature must expire.
        public let hasExpires: Bool
        /// The nonce that the signature must have.
        public let nonce: String?
        /// The name of the algorithm.
        public let algorithm: String?
        /// The name of the key.
        public let keyID: String?
        /// Its tag.
        public let tag: String?

        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for an invalid label or text.
        public init(
            label: String = "sig1", components: [Component], hasCreated: Bool = true, hasExpires: Bool = false,
            nonce: String? = nil, algorithm: Algorithm? = nil, keyID: String? = nil, tag: String? = nil
        ) throws(CurlewError) {
            guard Signer.isLabel(label), Component.areFit(components) else {
                throw CurlewError(
                    .invalidRequest,
                    "the label of a signature is not valid, or its components are too many, not ASCII, or one occurs twice"
                )
            }
            _ = try Parameters(nonce: nonce, keyID: keyID, tag: tag).structured()
            self.label = label
            self.components = components
            self.hasCreated = hasCreated
            self.hasExpires = hasExpires
            self.nonce = nonce
            self.algorithm = algorithm?.name
            self.keyID = keyID
            self.tag = tag
        }

        private init?(_ entry: StructuredField.Dictionary.Entry) {
            guard case .innerList(let list) = entry.member, let components = Component.all(in: list) else { return nil }
            let flags = ["created", "expires"]
            guard flags.allSatisfy({ [nil, .boolean(true), .boolean(false)].contains(list.parameters[$0]) }),
                let parameters = Parameters(list.parameters.filter { !flags.contains($0.key) })
            else { return nil }
            label = entry.key
            self.components = components
            hasCreated = list.parameters["created"] == .boolean(true)
            hasExpires = list.parameters["expires"] == .boolean(true)
            nonce = parameters.nonce
            algorithm = parameters.algorithm
            keyID = parameters.keyID
            tag = parameters.tag
        }

        /// The field of a message that requests signatures.
        public static let fieldName = HTTPField.Name("Accept-Signature")!

        /// The largest number of signatures that are read from a message.
        static let limit = 16

        /// The signatures that a message requests.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a field that is malformed,
        ///   contains a label twice, or requests more than 16 signatures.
        public static func all(in fields: HTTPFields) throws(CurlewError) -> [Wanted] {
            guard let dictionary = StructuredField.dictionary(of: fieldName, in: fields) else {
                guard fields[fields: fieldName].isEmpty else {
                    throw CurlewError(.invalidRequest, "the field Accept-Signature is malformed")
                }
                return []
            }
            let wanted = dictionary.entries.compactMap { Wanted($0) }
            guard dictionary.repeatedKeys.isEmpty, wanted.count == dictionary.entries.count, wanted.count <= limit
            else {
                throw CurlewError(
                    .invalidRequest, "the field Accept-Signature is malformed, has a label twice, or asks for too much")
            }
            return wanted
        }

        /// The member of the field.
        public var fieldText: String {
            var parameters: [StructuredField.Parameter] = []
            if hasCreated { parameters.append(StructuredField.Parameter(key: "created", value: .boolean(true))) }
            if hasExpires { parameters.append(StructuredField.Parameter(key: "expires", value: .boolean(true))) }
            for (key, text) in [("nonce", nonce), ("alg", algorithm), ("keyid", keyID), ("tag", tag)] {
                if let text { parameters.append(StructuredField.Parameter(key: key, value: .string(text))) }
            }
            return "\(label)=\(StructuredField.InnerList(items: components.map(\.item), parameters: parameters).text)"
        }
    }
}

extension MessageSignature.Component {
    /// True for at most 64 different components in printable ASCII.
    static func areFit(_ components: [Self]) -> Bool {
        components.count <= limit && components.allSatisfy(\.isWritable) && Set(components).count == components.count
    }

    /// The components of a list; nil if there are more than 64, or if a component has no name, occurs twice, or is that
    /// of the parameters themselves.
    static func all(in list: StructuredField.InnerList) -> [Self]? {
        guard list.items.count <= limit else { return nil }
        let components = list.items.map { Self(item: $0) }
        guard components.allSatisfy({ !$0.name.isEmpty && $0.name != "@signature-params" }),
            Set(components).count == components.count
        else { return nil }
        return components
    }
}

extension StructuredField {
    /// The dictionary of all values of a field; nil without the field, and for a malformed one.
    static func dictionary(of name: HTTPField.Name, in fields: HTTPFields) -> Dictionary? {
        let values = fields[fields: name].map { field in field.withUnsafeBytesOfValue { Array($0.trimmingBlanks) } }
        guard !values.isEmpty else { return nil }
        return dictionary(Array(values.filter { !$0.isEmpty }.joined(separator: [.comma, .space])))
    }
}
