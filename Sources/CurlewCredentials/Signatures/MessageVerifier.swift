public import Curlew
public import FoundationEssentials
internal import HTTPTypes

extension MessageSignature {
    /// The rules for accepting signatures of messages, and the verification (RFC 9421 §3.2).
    ///
    /// ```swift
    /// let verifier = try MessageSignature.Verifier(
    ///     required: [.status, .contentDigest, .method.ofRequest, .targetURI.ofRequest])
    /// let message = MessageSignature.Message(response, to: request)
    /// let accepted = try verifier.verify(message, content: content, at: Date()) { parameters in
    ///     keys[parameters.keyID ?? ""]
    /// }
    /// ```
    ///
    /// Components of the request bind the response to it. Without them, the signed response to another request is
    /// accepted too.
    public struct Verifier: Sendable {
        /// The components that a signature must cover.
        public let required: [Component]
        /// The accepted algorithms. For a key with several algorithms the first one is used, unless the signature names
        /// another.
        public let algorithms: [Algorithm]
        /// The largest accepted age of a signature: 5 minutes. nil accepts signatures of any age, and signatures
        /// without a time.
        public var longestAge: Duration?
        /// The accepted difference between clocks: 30 seconds.
        public var tolerance: Duration = .seconds(30)
        /// The label that a signature must have; nil for any.
        public var label: String?
        /// The tag that a signature must have; nil for any.
        public var tag: String?
        /// True if a signature must expire.
        public var requiresExpiration = false
        /// True if a signature must have a nonce. The caller checks that it is new.
        public var requiresNonce = false

        /// - Parameters:
        ///   - required: The components that a signature must cover, at least one.
        ///   - algorithms: The accepted algorithms; all except `rsa-v1_5-sha256` by default.
        ///   - longestAge: The largest accepted age of a signature.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` without components or algorithms.
        public init(
            required: [Component],
            algorithms: [Algorithm] = [.ed25519, .ecdsaP256SHA256, .ecdsaP384SHA384, .rsaPSSSHA512, .hmacSHA256],
            longestAge: Duration? = .seconds(300)
        ) throws(CurlewError) {
            guard !required.isEmpty, !algorithms.isEmpty else {
                throw CurlewError(.invalidRequest, "a verifier requires at least a component and an algorithm")
            }
            self.required = required
            self.algorithms = algorithms
            self.longestAge = longestAge
        }
    }

    /// A signature that was verified.
    public struct Accepted: Sendable, Hashable {
        /// The label.
        public let label: String
        /// The covered components. Other parts of the message are not verified.
        public let components: [Component]
        /// The parameters.
        public let parameters: Parameters
        /// The algorithm.
        public let algorithm: Algorithm
    }
}

extension MessageSignature.Verifier {
    /// The largest number of signatures of a message that are examined.
    static let limit = 8
    /// A hundred years in seconds. Larger values of ``tolerance`` count as this one.
    private static let longestTolerance: Int64 = 3_162_240_000

    /// Verifies the message's signatures, and returns the first accepted one.
    ///
    /// With `content`, a signature is accepted only if it covers the field Content-Digest, and the strongest digest of
    /// the field matches the content. Without `content`, the content is not verified.
    /// - Parameters:
    ///   - message: The message. A response needs its request if a component is from the request.
    ///   - content: The received content, before its codings are decoded; nil if the content is not used.
    ///   - moment: The time.
    ///   - key: Returns the key of a signature by its parameters, or nil to reject the signature.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if
    ///   ``MessageSignature/Component/contentDigest`` is required and there is no content to compare. The error is
    ///   ``Curlew/ErrorCode/signatureMissing`` for a message without a signature of the label and tag. It is
    ///   ``Curlew/ErrorCode/signatureRejected``, with the first reason, if no signature is accepted.
    public func verify(
        _ message: MessageSignature.Message, content: [UInt8]?, at moment: Date,
        key: (MessageSignature.Parameters) throws -> VerificationKey?
    ) throws -> MessageSignature.Accepted {
        guard content != nil || !required.contains(where: \.isContentDigest) else {
            throw CurlewError(.invalidRequest, "a signature has to cover the content, and there is none to compare")
        }
        return try accepted(message, content, at: moment, key: key)
    }

    /// The first accepted signature. If there is content, it must match the covered digest.
    func accepted(
        _ message: MessageSignature.Message, _ content: [UInt8]?, at moment: Date,
        key: (MessageSignature.Parameters) throws -> VerificationKey?
    ) throws -> MessageSignature.Accepted {
        let fields = message.fields
        let names = [SignatureMembers.inputName, SignatureMembers.signatureName]
        guard names.allSatisfy({ !fields[fields: $0].isEmpty }) else { throw Self.missing() }
        guard let inputs = StructuredField.dictionary(of: names[0], in: fields),
            let signatures = StructuredField.dictionary(of: names[1], in: fields)
        else { throw Self.rejection("the field Signature-Input or Signature is malformed") }
        guard inputs.repeatedKeys.isEmpty, signatures.repeatedKeys.isEmpty else {
            throw Self.rejection("two signatures have the same label")
        }
        var reason: CurlewError?
        var count = 0
        for entry in inputs.entries where label?.hasSameBytes(as: entry.key) ?? true {
            guard case .innerList(let input) = entry.member,
                let parameters = MessageSignature.Parameters(input.parameters)
            else {
                reason = reason ?? Self.rejection("a member of Signature-Input is no list with parameters")
                continue
            }
            guard tag == nil || parameters.tag.map({ tag?.hasSameBytes(as: $0) == true }) == true else { continue }
            count += 1
            guard count <= Self.limit else { break }
            do {
                let candidate = Candidate(
                    label: entry.key, input: input, parameters: parameters, signature: signatures[entry.key])
                let accepted = try check(candidate, message, moment, key)
                if let content { try Self.checkContent(content, accepted, fields) }
                return accepted
            } catch let error as CurlewError {
                reason = reason ?? error
            }
        }
        throw reason ?? Self.missing()
    }

    /// Compares content with the digest that a signature covers.
    static func checkContent(
        _ content: [UInt8], _ accepted: MessageSignature.Accepted, _ fields: HTTPFields
    ) throws(CurlewError) {
        guard accepted.components.contains(where: \.isContentDigest) else {
            throw rejection("a signature does not cover \(MessageSignature.Component.contentDigest)")
        }
        switch try DigestField.matches(fields, content) {
        case true: return
        case false: throw rejection("the content does not match its digest")
        case nil: throw rejection("the field Content-Digest has no digest by an algorithm that is known")
        }
    }

    private static func missing() -> CurlewError {
        CurlewError(.signatureMissing, "the message has no signature of the kind that is required")
    }

    private static func rejection(_ reason: String) -> CurlewError { CurlewError(.signatureRejected, reason) }

    private struct Candidate {
        let label: String
        let input: StructuredField.InnerList
        let parameters: MessageSignature.Parameters
        let signature: StructuredField.Member?
    }

    private func check(
        _ candidate: Candidate, _ message: MessageSignature.Message, _ moment: Date,
        _ key: (MessageSignature.Parameters) throws -> VerificationKey?
    ) throws -> MessageSignature.Accepted {
        guard case .item(let item) = candidate.signature, case .bytes(let signature) = item.value else {
            throw Self.rejection("a signature has no value")
        }
        guard let components = MessageSignature.Component.all(in: candidate.input) else {
            throw Self.rejection("a signature has a component twice, an invalid one, or more than 64")
        }
        if let missing = required.first(where: { !components.contains($0) }) {
            throw Self.rejection("a signature does not cover \(missing)")
        }
        try checkTimes(candidate.parameters, moment)
        guard !requiresNonce || candidate.parameters.nonce != nil else {
            throw Self.rejection("a signature has no nonce")
        }
        guard let key = try key(candidate.parameters) else {
            throw Self.rejection("the key of a signature is not known")
        }
        let algorithm = try algorithm(of: candidate.parameters, key)
        let base: [UInt8]
        do {
            base = try message.signatureBase(of: candidate.input)
        } catch {
            throw Self.rejection(error.message)
        }
        guard try key.verify(signature, of: base, by: algorithm.scheme) else {
            throw Self.rejection("a signature is wrong")
        }
        return MessageSignature.Accepted(
            label: candidate.label, components: components, parameters: candidate.parameters, algorithm: algorithm)
    }

    private func checkTimes(_ parameters: MessageSignature.Parameters, _ moment: Date) throws(CurlewError) {
        let now = CalendarTime.wholeSeconds(of: moment)
        let slack = min(max(0, tolerance.components.seconds), Self.longestTolerance)
        if let created = parameters.created.map(CalendarTime.wholeSeconds(of:)) {
            guard created <= now + slack else { throw Self.rejection("a signature was made in the future") }
            if let longestAge, .seconds(now - created) > longestAge + .seconds(slack) {
                throw Self.rejection("a signature is too old")
            }
        } else if longestAge != nil {
            throw Self.rejection("a signature has no time of its creation")
        }
        if let expires = parameters.expires.map(CalendarTime.wholeSeconds(of:)) {
            guard expires > now - slack else { throw Self.rejection("a signature has expired") }
        } else if requiresExpiration {
            throw Self.rejection("a signature does not expire")
        }
    }

    /// The algorithm that the signature names, or else the first accepted algorithm of the key.
    private func algorithm(
        of parameters: MessageSignature.Parameters, _ key: VerificationKey
    ) throws(CurlewError) -> MessageSignature.Algorithm {
        let fit = algorithms.filter { key.schemes.contains($0.scheme) }
        let chosen = parameters.algorithm.map { name in fit.first { $0.name.hasSameBytes(as: name) } } ?? fit.first
        guard let chosen else { throw Self.rejection("the algorithm of a signature is not accepted, or not its key's") }
        return chosen
    }
}
