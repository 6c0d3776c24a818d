import Curlew
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCredentials

/// Requests that botocore has signed, and credentials files that botocore has read (`Oracle/aws.py`).
@Suite("AWS signatures and files against botocore")
struct AWSOracleTests {
    struct Results: Decodable {
        var requests: [SignedCase]
        var files: [FileCase]
    }

    struct SignedCase: Decodable {
        var method: String
        var scheme: String
        var authority: String
        var target: String
        var fields: [[String]]
        var service: String
        var region: String
        var accessKey: String
        var secretKey: String
        var token: String?
        var seconds: Double
        var body: Data
        var unsigned: Bool?
        var expires: Int?
        var signedTarget: String?
        var signed: [String: String]?
        /// The signature of a presigned URL whose target has another spelling in botocore.
        var signature: String?
        var chunks: Chunks?

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
    }

    struct Chunks: Decodable {
        var length: Int
        var size: Int
        var signatures: [String]
    }

    struct FileCase: Decodable {
        enum Value: Decodable {
            case text(String)
            case nested([String: String])

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let text = try? container.decode(String.self) {
                    self = .text(text)
                } else {
                    self = .nested(try container.decode([String: String].self))
                }
            }

            var converted: AWSProfileFile.Value {
                switch self {
                case .text(let text): .text(text)
                case .nested(let values):
                    .nested(Dictionary(uniqueKeysWithValues: values.map { (Array($0.key.utf8), $0.value) }))
                }
            }
        }

        var text: String
        var profiles: [String: [String: Value]]?

        /// True if two keys are canonically equivalent: Foundation's decoder merges them.
        var hasEquivalentNames: Bool { text.contains("e\u{301}]") }
    }

    static let results = Result { try Oracle.load("aws.json", as: Results.self) }

    @Test("every request has the same signature, byte for byte")
    func requests() throws {
        let cases = try Self.results.get().requests
        #expect(cases.count == 384)
        var count = 0
        for (index, example) in cases.enumerated() {
            let signature = try AWSSignature(service: example.service, region: example.region)
            let credential = try AWSCredential(
                accessKey: example.accessKey, secretKey: example.secretKey, sessionToken: example.token)
            let moment = Date(timeIntervalSince1970: example.seconds)
            if let chunks = example.chunks {
                try check(chunks, example, signature, credential, moment)
                count += 1
            } else if let expires = example.expires {
                let signed = try signature.presigned(
                    example.request, credential: credential, at: moment, validity: .seconds(expires))
                if let text = example.signature {
                    #expect(signed.path?.hasSuffix("&X-Amz-Signature=\(text)") == true, "case \(index)")
                } else {
                    #expect(signed.path == example.signedTarget, "case \(index)")
                }
            } else {
                let payload: AWSSignature.Payload = example.unsigned == true ? .unsigned : .bytes(Array(example.body))
                let signed = try signature.signed(
                    example.request, payload: payload, credential: credential, at: moment)
                let expected = try #require(example.signed)
                for name in Self.names {
                    #expect(signed.headerFields[try #require(.init(name))] == expected[name], "case \(index): \(name)")
                }
            }
        }
        #expect(count == 24)
    }

    static let names = [
        "Authorization", "X-Amz-Date", "X-Amz-Content-SHA256", "X-Amz-Security-Token", "X-Amz-S3session-Token",
    ]

    func check(
        _ chunks: Chunks, _ example: SignedCase, _ signature: AWSSignature, _ credential: AWSCredential, _ moment: Date
    ) throws {
        var (signed, signer) = try signature.signedInChunks(
            example.request, length: Int64(chunks.length), chunkSize: chunks.size, credential: credential, at: moment)
        for name in Self.names {
            #expect(signed.headerFields[try #require(.init(name))] == example.signed?[name])
        }
        let framed = try signer.append([UInt8](repeating: UInt8(ascii: "a"), count: chunks.length)) + signer.finish()
        #expect(signed.headerFields[.contentLength] == "\(framed.count)")
        let lines = String(decoding: framed, as: UTF8.self).split(separator: "\r\n")
        #expect(lines.filter { $0.contains("chunk-signature=") }.map { String($0.suffix(64)) } == chunks.signatures)
    }

    @Test("every credentials file has the same profiles, or is refused")
    func files() throws {
        for example in try Self.results.get().files where !example.hasEquivalentNames {
            guard let expected = example.profiles else {
                #expect(throws: CurlewError.self, "\(example.text.debugDescription)") {
                    try AWSProfileFile(Array(example.text.utf8))
                }
                continue
            }
            let converted = expected.map { name, values in
                (Array(name.utf8), Dictionary(uniqueKeysWithValues: values.map { (Array($0.utf8), $1.converted) }))
            }
            let file = try AWSProfileFile(Array(example.text.utf8))
            #expect(
                file.profiles == Dictionary(uniqueKeysWithValues: converted), "\(example.text.debugDescription)")
        }
    }
}
