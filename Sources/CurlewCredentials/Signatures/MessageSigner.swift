public import Curlew
public import FoundationEssentials
public import HTTPTypes

extension MessageSignature {
    /// A signer of requests.
    ///
    /// A signature contains its time, so each attempt of a request needs a new one.
    ///
    /// ```swift
    /// let signer = try MessageSignature.Signer(
    ///     key: SigningKey(pem: pem), keyID: "client-1", components: [.method, .targetURI, .field(.contentType)])
    /// let signed = try signer.signed(request, at: Date())
    /// ```
    public struct Signer: Sendable {
        /// The algorithm.
        public let algorithm: Algorithm
        /// The components that signatures cover.
        public private(set) var components: [Component]
        /// The label of signatures in the two fields.
        public private(set) var label: String
        private let key: SigningKey
        private let keyID: String?
        private let validity: Duration?
        private let namesAlgorithm: Bool
        private var hasExpires: Bool
        private var tag: String?
        private var nonce: String?
        private let makesNonces: Bool

        /// - Parameters:
        ///   - key: The key that signs.
        ///   - algorithm: An algorithm that the key supports; nil selects the key's default, which is RSASSA-PSS for an
        ///     RSA key.
        ///   - keyID: The name by which the server finds the key.
        ///   - components: The covered components in their order.
        ///   - label: The label of the signature: a lower-case letter, followed by lower-case letters, digits and
        ///     `_-.*`.
        ///   - validity: The time after which a signature expires; nil if it does not expire.
        ///   - tag: The name of the application.
        ///   - namesAlgorithm: True if signatures contain the name of their algorithm. False by default: the key
        ///     implies it.
        ///   - makesNonces: True if each signature gets a random nonce.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for an algorithm that the key
        ///   does not support, and with ``Curlew/ErrorCode/invalidRequest`` for other invalid values.
        public init(
            key: SigningKey, algorithm: Algorithm? = nil, keyID: String? = nil, components: [Component],
            label: String = "sig1", validity: Duration? = nil, tag: String? = nil, namesAlgorithm: Bool = false,
            makesNonces: Bool = false
        ) throws(CurlewError) {
            guard let scheme = algorithm?.scheme ?? key.schemes.first, key.schemes.contains(scheme) else {
                throw CurlewError(.invalidCredential, "\(key.kindText) is not fit for the algorithm of the signature")
            }
            guard Self.isLabel(label) else {
                throw CurlewError(.invalidRequest, "the label of a signature is not valid")
            }
            guard validity.map({ $0 >= .seconds(1) }) ?? true else {
                throw CurlewError(.invalidRequest, "a signature expires after 1 second at least")
            }
            guard Component.areFit(components) else {
                throw CurlewError(
                    .invalidRequest, "the components of a signature are too many, not ASCII, or one occurs twice")
            }
            _ = try Parameters(keyID: keyID, tag: tag).structured()
            self.algorithm = Algorithm(scheme: scheme)
            self.key = key
            self.keyID = keyID
            self.components = components
            self.label = label
            self.validity = validity
            self.tag = tag
            self.namesAlgorithm = namesAlgorithm
            self.makesNonces = makesNonces
            hasExpires = validity != nil
        }

        /// True if signatures cover the digest of the content.
        var coversContent: Bool { components.contains(where: \.isContentDigest) }

        static func isLabel(_ text: String) -> Bool {
            StructuredField.dictionary(Array(text.utf8))?.entries.first?.key.hasSameBytes(as: text) == true
        }

        /// The request with its signature in the fields Signature-Input and Signature, after signatures that it already
        /// has.
        ///
        /// A signature covers content through its digest: add ``Component/contentDigest`` to the components, and pass
        /// the content. The request's own digest is then replaced.
        /// - Parameters:
        ///   - request: The request as it is sent.
        ///   - content: The content, if ``Component/contentDigest`` is covered; nil if the request already has the
        ///     field.
        ///   - trailers: The fields after its content.
        ///   - moment: The time of the signature.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a component that the request
        ///   lacks, and for a label that is already used.
        public func signed(
            _ request: HTTPRequest, content: [UInt8]? = nil, trailers: HTTPFields = [:], at moment: Date
        ) throws(CurlewError) -> HTTPRequest {
            var request = request
            if let content, coversContent {
                request.headerFields[.contentDigest] = try ContentDigest(.sha256, of: content).fieldValue
            }
            var generator = SystemRandomNumberGenerator()
            let members = try sign(Message(request, trailers: trailers), at: moment, using: &generator)
            try members.append(to: &request.headerFields)
            return request
        }

        /// The response with its signature, as a server makes it.
        func signed(
            _ response: HTTPResponse, to request: HTTPRequest?, at moment: Date
        ) throws(CurlewError) -> HTTPResponse {
            var generator = SystemRandomNumberGenerator()
            let members = try sign(Message(response, to: request), at: moment, using: &generator)
            var response = response
            try members.append(to: &response.headerFields)
            return response
        }

        /// The members of the two fields.
        func sign(
            _ message: Message, at moment: Date, using generator: inout some RandomNumberGenerator
        ) throws(CurlewError) -> SignatureMembers {
            var parameters = Parameters(created: moment, keyID: keyID, tag: tag)
            if hasExpires {
                parameters.expires = moment.addingTimeInterval(Double((validity ?? .seconds(300)).components.seconds))
            }
            if namesAlgorithm { parameters.algorithm = algorithm.name }
            parameters.nonce = nonce
            if nonce == nil, makesNonces {
                parameters.nonce = Base64.encodeForURL(
                    (0..<18).map { _ in UInt8.random(in: 0...255, using: &generator) })
            }
            let covered = StructuredField.InnerList(
                items: components.map(\.item), parameters: try parameters.structured())
            let signature = try key.sign(message.signatureBase(of: covered), by: algorithm.scheme)
            return SignatureMembers(label: label, input: covered, signature: signature)
        }
    }
}

extension MessageSignature.Signer {
    /// A signer for the signature that a server has requested (RFC 9421 §5.2).
    ///
    /// The server may request more components than this signer covers, but not fewer: a signature of few components
    /// could be used for another request.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a key, algorithm or tag other than
    ///   this signer's, and for a signature that does not cover all of its ``components``.
    public func fulfilling(_ wanted: MessageSignature.Wanted) throws(CurlewError) -> Self {
        let isOwnKey = wanted.keyID.map { keyID?.hasSameBytes(as: $0) == true }
        guard isOwnKey ?? true else {
            throw CurlewError(.invalidRequest, "a signature by another key is requested")
        }
        guard wanted.algorithm == nil || wanted.algorithm?.hasSameBytes(as: algorithm.name) == true else {
            throw CurlewError(.invalidRequest, "a signature by another algorithm is requested")
        }
        guard wanted.tag == nil || tag == nil || tag.hasSameBytes(as: wanted.tag) else {
            throw CurlewError(.invalidRequest, "a signature for another application is requested")
        }
        if let missing = components.first(where: { !wanted.components.contains($0) }) {
            throw CurlewError(.invalidRequest, "a signature that does not cover \(missing) is requested")
        }
        var signer = self
        signer.label = wanted.label
        signer.components = wanted.components
        signer.hasExpires = hasExpires || wanted.hasExpires
        signer.nonce = wanted.nonce
        signer.tag = wanted.tag ?? tag
        return signer
    }
}

extension MessageSignature.Signer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "signer by \(algorithm)\(keyID.map { " with the key \($0)" } ?? "")" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["algorithm": algorithm.name]) }
}

/// The members of a signature in the fields Signature-Input and Signature.
struct SignatureMembers {
    static let inputName = HTTPField.Name("Signature-Input")!
    static let signatureName = HTTPField.Name("Signature")!

    let label: String
    let input: StructuredField.InnerList
    let signature: [UInt8]

    var inputText: String { "\(label)=\(input.text)" }
    var signatureText: String { "\(label)=\(StructuredField.BareItem.bytes(signature).text)" }

    /// Adds the members after the existing ones.
    func append(to fields: inout HTTPFields) throws(CurlewError) {
        for (name, text) in [(Self.inputName, inputText), (Self.signatureName, signatureText)] {
            guard let value = fields[name], !value.isEmpty else {
                fields[name] = text
                continue
            }
            guard let dictionary = StructuredField.dictionary(Array(value.utf8)), dictionary[label] == nil else {
                throw CurlewError(
                    .invalidRequest, "the message has a signature with the label \(label) already, or a broken one")
            }
            fields[name] = "\(value), \(text)"
        }
    }
}
