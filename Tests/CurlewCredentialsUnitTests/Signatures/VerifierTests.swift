import Curlew
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Rules for accepting message signatures")
struct VerifierTests {
    let key: SigningKey
    let publicKey: VerificationKey
    let moment = Date(timeIntervalSince1970: 1_700_000_000)

    init() throws {
        key = try SigningKey(sharedSecret: Array("0123456789abcdef-secret".utf8))
        publicKey = try key.verificationKey
    }

    func signer(
        _ components: [MessageSignature.Component] = [.method, .path], label: String = "sig1",
        validity: Duration? = nil,
        tag: String? = nil, namesAlgorithm: Bool = false, makesNonces: Bool = false
    ) throws -> MessageSignature.Signer {
        try MessageSignature.Signer(
            key: key, keyID: "k", components: components, label: label, validity: validity, tag: tag,
            namesAlgorithm: namesAlgorithm, makesNonces: makesNonces)
    }

    var request: HTTPRequest { HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/a") }

    /// The message of the error, or the label of the signature that was accepted.
    func outcome(
        _ request: HTTPRequest, after seconds: Double = 0,
        required: [MessageSignature.Component] = [.method],
        algorithms: [MessageSignature.Algorithm] = [.hmacSHA256], content: [UInt8]? = nil,
        _ change: (inout MessageSignature.Verifier) -> Void = { _ in }
    ) throws -> String {
        var verifier = try MessageSignature.Verifier(required: required, algorithms: algorithms)
        change(&verifier)
        do {
            return try verifier.verify(
                MessageSignature.Message(request), content: content, at: moment.addingTimeInterval(seconds)
            ) {
                $0.keyID == "k" ? publicKey : nil
            }.label
        } catch let error as CurlewError {
            return error.message
        }
    }

    @Test("a signature is accepted for five minutes, with a difference of clocks of up to 30 seconds")
    func ages() throws {
        let signed = try signer().signed(request, at: moment)
        #expect(try outcome(signed, after: 330) == "sig1")
        #expect(try outcome(signed, after: 331) == "a signature is too old")
        #expect(try outcome(signed, after: -30) == "sig1")
        #expect(try outcome(signed, after: -31) == "a signature was made in the future")
        #expect(try outcome(signed, after: 1e9) { $0.longestAge = nil } == "sig1")
        #expect(try outcome(signed, after: 1e9) { $0.tolerance = .seconds(Int64.max) } == "sig1")
    }

    @Test("an expired signature is refused")
    func expiry() throws {
        let signed = try signer(validity: .seconds(60)).signed(request, at: moment)
        #expect(try outcome(signed, after: 89) == "sig1")
        #expect(try outcome(signed, after: 90) == "a signature has expired")
        let endless = try signer().signed(request, at: moment)
        #expect(try outcome(endless) { $0.requiresExpiration = true } == "a signature does not expire")
    }

    @Test("a signature without a required component, nonce, label or tag is refused")
    func requirements() throws {
        let signed = try signer(label: "a", tag: "app").signed(request, at: moment)
        #expect(
            try outcome(signed, required: [.path, .authority]) == "a signature does not cover \"@authority\"")
        #expect(try outcome(signed) { $0.requiresNonce = true } == "a signature has no nonce")
        let missing = "the message has no signature of the kind that is required"
        #expect(try outcome(signed) { $0.label = "b" } == missing)
        #expect(try outcome(signed) { $0.tag = "other" } == missing)
        #expect(try outcome(signed) { $0.tag = "app" } == "a")
        #expect(try outcome(request) == missing)
        let withNonce = try signer(makesNonces: true).signed(request, at: moment)
        #expect(try outcome(withNonce) { $0.requiresNonce = true } == "sig1")
    }

    @Test("a verifier without requirements cannot be made")
    func noRequirements() {
        #expect(throws: CurlewError.self) { try MessageSignature.Verifier(required: []) }
        #expect(throws: CurlewError.self) { try MessageSignature.Verifier(required: [.method], algorithms: []) }
    }

    @Test("an algorithm that is not accepted, or that the key does not support, is refused")
    func algorithms() throws {
        var signed = try signer(namesAlgorithm: true).signed(request, at: moment)
        #expect(try outcome(signed) == "sig1")
        let refused = "the algorithm of a signature is not accepted, or not its key's"
        #expect(try outcome(signed, algorithms: [.ed25519]) == refused)
        let input = try #require(signed.headerFields[SignatureMembers.inputName])
        for name in ["rsa-pss-sha512", "none", ""] {
            signed.headerFields[SignatureMembers.inputName] = input.replacing("hmac-sha256", with: name)
            #expect(try outcome(signed) == refused)
        }
    }

    @Test("a signature by RSASSA-PKCS1-v1_5 is accepted only if it is allowed, and never as RSASSA-PSS")
    func downgrade() throws {
        let rsa = try RFC9421Tests.signingKey("test-key-rsa")
        let signer = try MessageSignature.Signer(
            key: rsa, algorithm: .rsaPKCS1SHA256, keyID: "rsa", components: [.method])
        let message = MessageSignature.Message(try signer.signed(request, at: moment))
        let usual = try MessageSignature.Verifier(required: [.method])
        let publicKey = try rsa.verificationKey
        #expect(throws: CurlewError.self) { try usual.verify(message, content: nil, at: moment) { _ in publicKey } }
        let verifier = try MessageSignature.Verifier(required: [.method], algorithms: [.rsaPKCS1SHA256])
        #expect(try verifier.verify(message, content: nil, at: moment) { _ in publicKey }.algorithm == .rsaPKCS1SHA256)
    }

    @Test("a signature by an unknown key is refused")
    func unknownKey() throws {
        var signed = try signer().signed(request, at: moment)
        let input = try #require(signed.headerFields[SignatureMembers.inputName])
        signed.headerFields[SignatureMembers.inputName] = input.replacing("keyid=\"k\"", with: "keyid=\"x\"")
        #expect(try outcome(signed) == "the key of a signature is not known")
    }

    @Test("two signatures with one label are refused, in one field or in two")
    func duplicates() throws {
        let signed = try signer().signed(request, at: moment)
        for name in [SignatureMembers.inputName, SignatureMembers.signatureName] {
            let value = try #require(signed.headerFields[name])
            var twice = signed
            twice.headerFields[name] = "\(value), \(value)"
            #expect(try outcome(twice) == "two signatures have the same label")
            var split = signed
            split.headerFields.append(HTTPField(name: name, value: value))
            #expect(try outcome(split) == "two signatures have the same label")
        }
        #expect(throws: CurlewError.self) { try signer().signed(signed, at: moment) }
    }

    @Test("a second signature is added after the first, and a verifier accepts either")
    func several() throws {
        let first = try signer(label: "one").signed(request, at: moment)
        let both = try signer([.method, .authority], label: "two").signed(first, at: moment)
        #expect(try outcome(both) == "one")
        #expect(try outcome(both, required: [.authority]) == "two")
        #expect(try outcome(both) { $0.label = "two" } == "two")
    }

    @Test(
        "malformed fields are refused",
        arguments: [
            ("sig1", "sig1=:AAAA:"), ("sig1=1", "sig1=:AAAA:"), ("sig1=(\"@method\"", "sig1=:AAAA:"), ("", ""),
            ("sig1=(\"@method\");created=\"x\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\");created=1700000000;keyid=k", "sig1=:AAAA:"),
            ("sig1=(\"@method\");created=1700000000;keyid=\"k\"", "sig1=AAAA"),
            ("sig1=(\"@method\");created=1700000000;keyid=\"k\"", "other=:AAAA:"),
            ("sig1=(\"@method\");created=1700000000;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\" \"@method\");created=1700000000;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\" \"@signature-params\");created=1700000000;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\" \"x-none\");created=1700000000;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\" a);created=1700000000;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\");keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\");created=-999999999999999;keyid=\"k\"", "sig1=:AAAA:"),
            ("sig1=(\"@method\");created=999999999999999;keyid=\"k\"", "sig1=:AAAA:"),
        ])
    func broken(_ input: String, _ signature: String) throws {
        var message = request
        message.headerFields[SignatureMembers.inputName] = input
        message.headerFields[SignatureMembers.signatureName] = signature
        let verifier = try MessageSignature.Verifier(required: [.method])
        let error = #expect(throws: CurlewError.self) {
            try verifier.verify(MessageSignature.Message(message), content: nil, at: moment) { _ in publicKey }
        }
        #expect(error?.code == .signatureRejected || error?.code == .signatureMissing)
    }

    @Test("the signature of a response covers its request")
    func response() throws {
        let signer = try signer([.status, .method.ofRequest, .path.ofRequest])
        let response = try signer.signed(HTTPResponse(status: .ok), to: request, at: moment)
        let verifier = try MessageSignature.Verifier(required: [.status, .path.ofRequest])
        let message = MessageSignature.Message(response, to: request)
        #expect(throws: Never.self) { try verifier.verify(message, content: nil, at: moment) { _ in publicKey } }
        var other = request
        other.path = "/b"
        #expect(throws: CurlewError.self) {
            try verifier.verify(MessageSignature.Message(response, to: other), content: nil, at: moment) { _ in
                publicKey
            }
        }
        #expect(throws: CurlewError.self) {
            try verifier.verify(MessageSignature.Message(response), content: nil, at: moment) { _ in publicKey }
        }
    }

    @Test("content is accepted if a signature covers its digest")
    func content() throws {
        let content = Array("birds".utf8)
        let signed = try signer([.method, .contentDigest]).signed(request, content: content, at: moment)
        #expect(signed.headerFields[.contentDigest]?.hasPrefix("sha-256=:") == true)
        #expect(try outcome(signed, required: [.method, .contentDigest], content: content) == "sig1")
        let other = "the content does not match its digest"
        #expect(try outcome(signed, required: [.method, .contentDigest], content: content + [0]) == other)
        #expect(try outcome(signed, content: content + [0]) == other)
        // The signer replaces an outdated digest of the request.
        #expect(try signer([.method, .contentDigest]).signed(signed.unsigned, content: content, at: moment) == signed)
    }

    @Test("content whose digest is missing, not covered or unknown is refused")
    func uncovered() throws {
        let content = Array("birds".utf8)
        let uncovered = "a signature does not cover \"content-digest\""
        let plain = try signer().signed(request, content: content, at: moment)
        #expect(plain.headerFields[.contentDigest] == nil)
        #expect(try outcome(plain, content: content) == uncovered)
        var digested = request
        digested.headerFields[.contentDigest] = try DigestField.value(of: content)
        #expect(try outcome(signer().signed(digested, at: moment), content: content) == uncovered)
        let member = MessageSignature.Component.contentDigest.member("sha-256")
        #expect(try outcome(signer([.method, member]).signed(digested, at: moment), content: content) == uncovered)
        digested.headerFields[.contentDigest] = "md5=:AAAA:"
        let unknown = try signer([.method, .contentDigest]).signed(digested, at: moment)
        #expect(
            try outcome(unknown, content: content)
                == "the field Content-Digest has no digest by an algorithm that is known")
        #expect(try outcome(unknown, required: [.contentDigest]).hasSuffix("there is none to compare"))
    }

    @Test("a requested signature that covers less than the signer, or is for another application, is refused")
    func signingOracle() throws {
        let own = try signer([.method, .authority, .targetURI], tag: "app")
        let texts = [
            "s=(\"@method\");nonce=\"x\";tag=\"app\"", "s=();tag=\"app\"",
            "s=(\"@method\" \"@authority\" \"@target-uri\");tag=\"other\"",
            "s=(\"@method\" \"@authority\" \"@target-uri\");keyid=\"other\"",
        ]
        for text in texts {
            let wanted = try #require(
                try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: text]).first)
            let error = #expect(throws: CurlewError.self, "\(text)") { try own.fulfilling(wanted) }
            #expect(error?.code == .invalidRequest)
        }
        let more = "s=(\"@path\" \"@target-uri\" \"@authority\" \"@method\");nonce=\"x\""
        let wanted = try #require(try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: more]).first)
        let input = try own.fulfilling(wanted).signed(request, at: moment).headerFields[SignatureMembers.inputName]
        #expect(input?.contains("nonce=\"x\";tag=\"app\"") == true)
    }

    @Test("a signature of more than 64 components is refused before a field is read")
    func manyComponents() throws {
        let names = (0..<65).map { "\"x-a\";key=\"k\($0)\"" }
        var message = request
        message.headerFields[.init("x-a")!] = (0..<65).map { "k\($0)=1" }.joined(separator: ",")
        message.headerFields[SignatureMembers.inputName] =
            "sig1=(\"@method\" \(names.joined(separator: " ")));created=1700000000;keyid=\"k\""
        message.headerFields[SignatureMembers.signatureName] = "sig1=:AAAA:"
        #expect(try outcome(message) == "a signature has a component twice, an invalid one, or more than 64")
        let components = (0..<65).map { MessageSignature.Component.field(.init("x-a")!).member("k\($0)") }
        #expect(throws: CurlewError.self) { try signer(components) }
        #expect(throws: Never.self) { try signer(Array(components.prefix(64))).signed(message.unsigned, at: moment) }
    }

    @Test("a component that is not printable ASCII is refused, and not written into a field")
    func unwritable() {
        for text in ["a\nb", "é", "a\u{7F}"] {
            let component = MessageSignature.Component.field(.contentType).member(text)
            #expect(throws: CurlewError.self) { try signer([component]) }
            #expect(throws: CurlewError.self) { try MessageSignature.Wanted(components: [component]) }
        }
    }

    @Test("descriptions of a message contain neither its query nor its fields")
    func messageTexts() {
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: "a", path: "/?token=SECRET", headerFields: [.cookie: "SECRET"])
        SecretCheck.expectNone(of: ["SECRET"], in: MessageSignature.Message(request, trailers: [.cookie: "SECRET"]))
    }

    @Test("invalid settings are refused")
    func settings() throws {
        for label in ["", "A", "a b", "1", "a=1", "a;b", "é"] {
            #expect(throws: CurlewError.self) { try signer(label: label) }
        }
        #expect(throws: CurlewError.self) { try signer([.method, .method]) }
        #expect(throws: CurlewError.self) { try signer(validity: .zero) }
        #expect(throws: CurlewError.self) { try signer(tag: "a\nb") }
        #expect(throws: CurlewError.self) {
            try MessageSignature.Signer(key: key, algorithm: .ed25519, components: [.method])
        }
        let unfit = try signer([.field(.contentType)])
        #expect(throws: CurlewError.self) { try unfit.signed(request, at: moment) }
    }

    @Test(
        "a malformed field Accept-Signature is refused",
        arguments: [
            "sig1", "sig1=1", "sig1=(", "sig1=(a)", "sig1=(\"a\" \"a\")", "sig1=();created=5", "sig1=();nonce=a",
            "a=(), a=()",
        ])
    func wishes(_ text: String) {
        #expect(throws: CurlewError.self) {
            try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: text])
        }
    }

    @Test("a message without requested signatures has an empty list, and 17 are too many")
    func wishCount() throws {
        #expect(try MessageSignature.Wanted.all(in: [:]).isEmpty)
        let many = (0..<17).map { "a\($0)=(\"@method\")" }.joined(separator: ", ")
        #expect(throws: CurlewError.self) {
            try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: many])
        }
    }

    @Test("descriptions of a signer do not contain its secret")
    func secrets() throws {
        SecretCheck.expectNone(of: ["0123456789abcdef", "48, 49, 50"], in: try signer())
        SecretCheck.expectNone(of: ["0123456789abcdef", "48, 49, 50"], in: publicKey)
        SecretCheck.expectNone(of: ["0123456789abcdef", "48, 49, 50"], in: key)
    }
}

extension HTTPRequest {
    /// The request without signatures.
    fileprivate var unsigned: HTTPRequest {
        var request = self
        request.headerFields[SignatureMembers.inputName] = nil
        request.headerFields[SignatureMembers.signatureName] = nil
        return request
    }
}
