import Curlew
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCredentials

/// Fields that http-sf has read, and requests that http-message-signatures has signed (`Oracle/signatures.py`).
///
/// If the environment has `CURLEW_SIGNATURES_OUTPUT`, the signed requests are written to that file, and the script
/// checks them.
@Suite("Message signatures against other implementations")
struct SignatureOracleTests {
    struct Results: Decodable {
        struct Field: Decodable {
            var kind: String
            var text: String
            var result: String?
        }

        var fields: [Field]
        var requests: [SignedRequest]
    }

    struct SignedRequest: Codable {
        var method: String
        var scheme: String
        var authority: String
        var target: String
        var fields: [[String]]
        var key: String
        var algorithm: String
        var base: String
        var created: Double
        var input: String
        var signature: String

        var request: HTTPRequest {
            get throws {
                var fields = HTTPFields()
                for field in self.fields {
                    fields.append(HTTPField(name: try #require(HTTPField.Name(field[0])), value: field[1]))
                }
                return HTTPRequest(
                    method: try #require(.init(method)), scheme: scheme, authority: authority, path: target,
                    headerFields: fields)
            }
        }

        /// The label and the list of components with their parameters.
        var covered: (label: String, list: StructuredField.InnerList) {
            get throws {
                let entry = try #require(StructuredField.dictionary(Array(input.utf8))?.entries.first)
                guard case .innerList(let list) = entry.member else {
                    throw CurlewError(.invalidRequest, "no list")
                }
                return (entry.key, list)
            }
        }

        var signer: MessageSignature.Signer {
            get throws {
                let (label, list) = try covered
                let parameters = try #require(MessageSignature.Parameters(list.parameters))
                let signer = try MessageSignature.Signer(
                    key: RFC9421Tests.signingKey(key), algorithm: MessageSignature.Algorithm(name: algorithm),
                    keyID: key, components: list.items.map { MessageSignature.Component(item: $0) }, label: label,
                    validity: parameters.expires == nil ? nil : .seconds(300),
                    namesAlgorithm: parameters.algorithm != nil)
                return try signer.fulfilling(
                    MessageSignature.Wanted(
                        label: label, components: signer.components, nonce: parameters.nonce, tag: parameters.tag))
            }
        }
    }

    static let results = Result { try Oracle.load("signatures.json", as: Results.self) }

    @Test("every structured field is parsed and written identically, or refused")
    func fields() throws {
        for field in try Self.results.get().fields {
            // Tabs around a field never reach its parser, and http-sf refuses an empty list, which RFC 9651 allows.
            guard field.text.first != "\t", field.text.last != "\t" else { continue }
            guard field.kind == "item" || field.text.contains(where: { $0 != " " }) else { continue }
            let bytes = Array(field.text.utf8)
            let text =
                switch field.kind {
                case "dictionary": StructuredField.dictionary(bytes)?.text
                case "list": StructuredField.list(bytes)?.map(\.text).joined(separator: ", ")
                default: StructuredField.item(bytes)?.text
                }
            #expect(text == field.result, "\(field.kind) \(field.text.debugDescription)")
        }
    }

    @Test("every signature base is identical, byte for byte")
    func bases() throws {
        for example in try Self.results.get().requests {
            let base = try MessageSignature.Message(example.request).signatureBase(of: example.covered.list)
            #expect(String(decoding: base, as: UTF8.self).hasSameBytes(as: example.base))
        }
    }

    @Test("every signature is accepted, and refused after a change of the request")
    func verification() throws {
        for example in try Self.results.get().requests {
            let components = try example.covered.list.items.map { MessageSignature.Component(item: $0) }
            let verifier = try MessageSignature.Verifier(
                required: components.isEmpty ? [.method] : components,
                algorithms: [.ed25519, .ecdsaP256SHA256, .rsaPSSSHA512, .rsaPKCS1SHA256, .hmacSHA256]
                    .filter { $0.name == example.algorithm })
            guard !components.isEmpty else { continue }
            var request = try example.request
            request.headerFields[SignatureMembers.inputName] = example.input
            request.headerFields[SignatureMembers.signatureName] = example.signature
            let moment = Date(timeIntervalSince1970: example.created)
            let accepted = try verifier.verify(MessageSignature.Message(request), content: nil, at: moment) {
                try RFC9421Tests.verificationKey($0.keyID)
            }
            #expect(accepted.algorithm.name == example.algorithm)
            #expect(accepted.parameters.created == moment)
            request.headerFields[SignatureMembers.inputName] = example.input.replacing("keyid=", with: "x;keyid=")
            let error = #expect(throws: CurlewError.self) {
                try verifier.verify(MessageSignature.Message(request), content: nil, at: moment) {
                    try RFC9421Tests.verificationKey($0.keyID)
                }
            }
            #expect(error?.message == "a signature is wrong")
        }
    }

    @Test("a deterministic signature is identical, byte for byte")
    func signing() throws {
        var count = 0
        var targets = 0
        for example in try Self.results.get().requests {
            let signed = try example.signer.signed(
                example.request, at: Date(timeIntervalSince1970: example.created))
            #expect(signed.headerFields[SignatureMembers.inputName] == example.input)
            if example.base.contains("\"@target-uri\"") { targets += 1 }
            guard ["ed25519", "hmac-sha256", "rsa-v1_5-sha256"].contains(example.algorithm) else { continue }
            count += 1
            #expect(signed.headerFields[SignatureMembers.signatureName] == example.signature)
        }
        #expect(count >= 80)
        #expect(targets >= 50)
    }

    @Test(
        "the signed requests that the script verifies are written",
        .enabled(if: ProcessInfo.processInfo.environment["CURLEW_SIGNATURES_OUTPUT"] != nil))
    func output() throws {
        let path = try #require(ProcessInfo.processInfo.environment["CURLEW_SIGNATURES_OUTPUT"])
        let signed = try Self.results.get().requests.compactMap { example in
            let signer = try example.signer
            guard try MessageSignature.Parameters(example.covered.list.parameters)?.expires == nil else {
                return nil as SignedRequest?
            }
            let request = try signer.signed(
                example.request, at: Date(timeIntervalSince1970: min(example.created, 1_750_000_000)))
            var result = example
            result.fields = request.headerFields.map { [$0.name.rawName, $0.value] }
            return result
        }
        try JSONEncoder().encode(signed).write(to: URL(fileURLWithPath: path))
    }
}
