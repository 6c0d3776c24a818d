import Curlew
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCredentials

/// The keys, messages and signature bases of RFC 9421 (`Oracle/rfc9421.py`).
@Suite("The examples of RFC 9421")
struct RFC9421Tests {
    struct Results: Decodable {
        struct Key: Decodable {
            var `public`: String?
            var `private`: String?
            var secret: Data?
        }

        var keys: [String: Key]
        var signed: [Example]
        var bases: [String]
        var accept: [String]
        var request: Example
    }

    struct Example: Decodable {
        var start: String
        var fields: [[String]]
        var content: String?

        var headerFields: HTTPFields {
            var fields = HTTPFields()
            for field in self.fields where field[0] != "Host" {
                if let name = HTTPField.Name(field[0]) { fields.append(HTTPField(name: name, value: field[1])) }
            }
            return fields
        }

        var isRequest: Bool { !start.hasPrefix("HTTP/") }

        var request: HTTPRequest {
            get throws {
                let words = start.split(separator: " ")
                return HTTPRequest(
                    method: try #require(.init(String(words[0]))), scheme: "https",
                    authority: fields.first { $0[0] == "Host" }?[1], path: String(words[1]), headerFields: headerFields)
            }
        }

        var response: HTTPResponse {
            get throws {
                let code = try #require(Int(start.split(separator: " ")[1]))
                return HTTPResponse(status: .init(code: code), headerFields: headerFields)
            }
        }

        func message(to request: HTTPRequest) throws -> MessageSignature.Message {
            isRequest ? MessageSignature.Message(try self.request) : MessageSignature.Message(try response, to: request)
        }

        var labels: [String] {
            StructuredField.dictionary(of: SignatureMembers.inputName, in: headerFields)?.entries.map(\.key) ?? []
        }

        /// True for messages that the RFC shows as examples of a signature that a change breaks.
        func isBroken(_ label: String) -> Bool {
            let host = fields.first { $0[0] == "Host" }?[1]
            let accepts = fields.filter { $0[0] == "Accept" }.map { $0[1] }
            return start.hasPrefix("POST /demo") || accepts == ["*/*", "application/json"]
                || label == "sig1" && host == "origin.host.internal.example"
        }
    }

    static let results = Result { try Oracle.load("rfc9421.json", as: Results.self) }
    /// A time within minutes of the RFC's signatures.
    static let moment = Date(timeIntervalSince1970: 1_618_884_500)

    static func verificationKey(_ name: String?) throws -> VerificationKey? {
        guard let name, let key = try results.get().keys[name] else { return nil }
        if let secret = key.secret { return try VerificationKey(sharedSecret: Array(secret)) }
        return try VerificationKey(pem: try #require(key.public))
    }

    static func signingKey(_ name: String) throws -> SigningKey {
        let key = try #require(results.get().keys[name])
        if let secret = key.secret { return try SigningKey(sharedSecret: Array(secret)) }
        return try SigningKey(pem: try #require(key.private))
    }

    @Test("every signed message is accepted, except those that the RFC has changed")
    func verification() throws {
        let results = try Self.results.get()
        let request = try results.request.request
        var (accepted, refused) = (0, 0)
        for example in results.signed {
            // No verifier accepts an example without components.
            for label in example.labels where label != "sig-b21" {
                var verifier = try MessageSignature.Verifier(
                    required: [
                        label == "sig-b22" || label == "sig-b25"
                            ? .authority : example.isRequest ? .method : .status
                    ],
                    algorithms: [.ed25519, .ecdsaP256SHA256, .rsaPSSSHA512, .rsaPKCS1SHA256, .hmacSHA256])
                verifier.label = label
                let message = try example.message(to: request)
                let result = Result {
                    try verifier.verify(message, content: nil, at: Self.moment) { try Self.verificationKey($0.keyID) }
                }
                if example.isBroken(label) {
                    refused += 1
                    let error = #expect(throws: CurlewError.self) { try result.get() }
                    #expect(error?.message == "a signature is wrong")
                } else {
                    accepted += 1
                    #expect(throws: Never.self, "\(example.start) \(label)") { try result.get() }
                }
            }
        }
        #expect(accepted == 16)
        #expect(refused == 4)
    }

    @Test("a signature without components is correct, but no verifier accepts it")
    func minimal() throws {
        let example = try #require(Self.results.get().signed.first { $0.labels == ["sig-b21"] })
        let fields = example.headerFields
        let inputs = try #require(StructuredField.dictionary(of: SignatureMembers.inputName, in: fields))
        let signatures = try #require(StructuredField.dictionary(of: SignatureMembers.signatureName, in: fields))
        guard case .innerList(let list) = inputs["sig-b21"], case .item(let item) = signatures["sig-b21"],
            case .bytes(let bytes) = item.value
        else {
            Issue.record("no signature")
            return
        }
        let base = try MessageSignature.Message(example.request).signatureBase(of: list)
        let key = try #require(try Self.verificationKey("test-key-rsa-pss"))
        #expect(try key.verify(bytes, of: base, by: .rsaPSSSHA512))
        let verifier = try MessageSignature.Verifier(required: [.method])
        let error = #expect(throws: CurlewError.self) {
            try verifier.verify(MessageSignature.Message(try example.request), content: nil, at: Self.moment) {
                try Self.verificationKey($0.keyID)
            }
        }
        #expect(error?.message == "a signature does not cover \"@method\"")
    }

    @Test("every signature base is identical to the RFC's, byte for byte")
    func bases() throws {
        let results = try Self.results.get()
        let request = try results.request.request
        var made: Set<String> = []
        for example in results.signed {
            let inputs = StructuredField.dictionary(of: SignatureMembers.inputName, in: example.headerFields)
            for entry in inputs?.entries ?? [] {
                guard case .innerList(let list) = entry.member else { continue }
                let base = try example.message(to: request).signatureBase(of: list)
                made.insert(String(decoding: base, as: UTF8.self))
            }
        }
        for base in results.bases where base.hasPrefix("\"") {
            let unwrapped = base.replacing("\\\n  ", with: "")
            #expect(made.contains(unwrapped), "\(unwrapped)")
        }
    }

    @Test("deterministic signatures are identical to the RFC's")
    func signing() throws {
        let results = try Self.results.get()
        let cases: [(String, String, [MessageSignature.Component])] = [
            ("sig-b25", "test-shared-secret", [.field(.date), .authority, .field(.contentType)]),
            (
                "sig-b26", "test-key-ed25519",
                [.field(.date), .method, .path, .authority, .field(.contentType), .field(.contentLength)]
            ),
        ]
        for (label, key, components) in cases {
            let signer = try MessageSignature.Signer(
                key: Self.signingKey(key), keyID: key, components: components, label: label)
            let signed = try signer.signed(
                results.request.request, at: Date(timeIntervalSince1970: 1_618_884_473.9))
            let example = try #require(results.signed.first { $0.labels == [label] })
            for name in [SignatureMembers.inputName, SignatureMembers.signatureName] {
                #expect(signed.headerFields[name] == example.headerFields[name])
            }
        }
    }

    @Test("a requested signature is parsed, written and made")
    func acceptance() throws {
        let text = try #require(Self.results.get().accept.first)
        let wanted = try #require(try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: text]).first)
        #expect(wanted.label == "sig1")
        #expect(
            wanted.components == [
                .method, .targetURI, .authority, .field(.contentDigest), .field(.cacheControl),
            ])
        #expect(wanted.hasCreated)
        #expect(wanted.tag == "app-123")
        let again = try MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: wanted.fieldText])
        #expect(again == [wanted])
        let signer = try MessageSignature.Signer(
            key: Self.signingKey("test-key-rsa-pss"), keyID: "test-key-rsa-pss", components: [.method], label: "other")
        var request = try Self.results.get().request.request
        request.headerFields[.cacheControl] = "no-store"
        let signed = try signer.fulfilling(wanted).signed(request, at: Self.moment)
        let input = try #require(signed.headerFields[SignatureMembers.inputName])
        #expect(
            input == """
                sig1=("@method" "@target-uri" "@authority" "content-digest" "cache-control")\
                ;created=1618884500;keyid="test-key-rsa-pss";tag="app-123"
                """)
        let other = try MessageSignature.Signer(key: Self.signingKey("test-key-ed25519"), components: [.method])
        #expect(throws: CurlewError.self) { try other.fulfilling(wanted) }
    }
}
