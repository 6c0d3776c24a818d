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

        /// Foundation's decoder makes one key of two that are canonically equivalent.
        var hasEquivalentNames: Bool { text.contains("e\u{301}]") }
    }

    static let results = Result { try Oracle.load("aws.json", as: Results.self) }

    @Test("every request has the same signature, byte for byte")
    func requests() throws {
        let cases = try Self.results.get().requests
        #expect(cases.count >= 200)
        for (index, example) in cases.enumerated() {
            let signature = try AWSSignature(service: example.service, region: example.region)
            let credential = try AWSCredential(
                accessKey: example.accessKey, secretKey: example.secretKey, sessionToken: example.token)
            let moment = Date(timeIntervalSince1970: example.seconds)
            if let expires = example.expires {
                let signed = try signature.presigned(
                    example.request, credential: credential, at: moment, validity: .seconds(expires))
                #expect(signed.path == example.signedTarget, "case \(index)")
            } else {
                let payload: AWSSignature.Payload = example.unsigned == true ? .unsigned : .bytes(Array(example.body))
                let signed = try signature.signed(
                    example.request, payload: payload, credential: credential, at: moment)
                let expected = try #require(example.signed)
                for name in ["Authorization", "X-Amz-Date", "X-Amz-Content-SHA256", "X-Amz-Security-Token"] {
                    #expect(signed.headerFields[try #require(.init(name))] == expected[name], "case \(index): \(name)")
                }
            }
        }
    }

    @Test("every credentials file has the same profiles, or is refused")
    func files() throws {
        for example in try Self.results.get().files where !example.hasEquivalentNames {
            guard let expected = example.profiles else {
                #expect(throws: CredentialsError.self, "\(example.text.debugDescription)") {
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
