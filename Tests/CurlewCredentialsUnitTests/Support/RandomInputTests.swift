import Curlew
import Foundation
import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewCredentials

/// Random inputs, most of which consist of pieces of a format.
@Suite("Parsers of data from peers and files, with random input")
struct RandomInputTests {
    static let pieces = [
        "machine ", "default ", "login ", "password ", "macdef ", "\"", "\\", "\n", "\n\n", "\r", "#", " ", "\t", "[",
        "]", "=", ":",
        "a", "b", "DEFAULT", "é", "e\u{301}", "🙂", "(", ")", ";", ",", "?1", "@", "-", "1", "9999999999999999", ".",
        "%", "%41", "%\"", "*",
        ":YQ==:", "sig1", "\"@method\"", ";created=1", "T", "Z", "+", "&", "/", "..", "\u{0}", "\u{7F}", "\u{85}",
        "\u{2028}",
    ]

    static func bytes(_ generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            if Int.random(in: 0..<12, using: &generator) == 0 {
                bytes.append(UInt8.random(in: 0...255, using: &generator))
            } else {
                bytes += (pieces.randomElement(using: &generator) ?? "").utf8
            }
        }
        return bytes
    }

    @Test(
        "no input ends the process, and a parsed value is equal after it is written and parsed again",
        arguments: [46, UInt64.random(in: 0...UInt64.max)])
    func survival(_ seed: UInt64) throws {
        var generator = SeededNumbers(seed: seed)
        let moment = Date(timeIntervalSince1970: 1_700_000_000)
        let hmac = try SigningKey(sharedSecret: [UInt8](repeating: 7, count: 32)).verificationKey
        let verifier = try MessageSignature.Verifier(required: [.method])
        let credential = try AWSCredential(accessKey: "AKID", secretKey: "secret")
        let signatures = try [
            AWSSignature(service: "s3", region: "a"), AWSSignature(service: "sts", region: "a"),
        ]
        var compared = 0
        for _ in 0..<1500 {
            let bytes = Self.bytes(&generator)
            let text = String(decoding: bytes, as: UTF8.self)
            _ = try? Netrc(bytes).login(for: "a")
            _ = try? AWSProfileFile(bytes)
            _ = TimeText.httpDate(text)
            _ = TimeText.internetDate(text)
            _ = PeerText.escaped(text, limit: 5)
            _ = ProblemDetails.isMediaType(text)
            if let decoded = Base64.decode(bytes) { #expect(Base64.decode(Base64.encode(decoded).utf8) == decoded) }
            if let dictionary = StructuredField.dictionary(bytes) {
                #expect(StructuredField.dictionary(Array(dictionary.text.utf8))?.text == dictionary.text)
            }
            if let list = StructuredField.list(bytes) {
                let text = list.map(\.text).joined(separator: ", ")
                #expect(StructuredField.list(Array(text.utf8)) == list)
            }
            if let item = StructuredField.item(bytes) { #expect(StructuredField.item(Array(item.text.utf8)) == item) }
            var request = HTTPRequest(method: .get, scheme: "https", authority: "a" + text, path: "/" + text)
            for signature in signatures {
                _ = try? signature.signed(request, payload: .empty, credential: credential, at: Date())
                _ = try? signature.presigned(request, credential: credential, at: Date(), validity: .seconds(9))
            }
            request.headerFields[SignatureMembers.inputName] = "sig1=(\"@method\");created=1700000000" + text
            request.headerFields[SignatureMembers.signatureName] = "sig1=:YQ==:" + text
            let message = MessageSignature.Message(request)
            let error = #expect(throws: CurlewError.self) {
                try verifier.verify(message, content: nil, at: moment) { _ in hmac }
            }
            if error?.message == "a signature is wrong" { compared += 1 }
            _ = try? MessageSignature.Wanted.all(in: [MessageSignature.Wanted.fieldName: text])
            _ = try? DigestField.matches([.contentDigest: text], bytes)
        }
        // The other messages are refused before their signature is examined.
        #expect(compared > 20)
    }

    @Test("times beyond the limits of numbers are bounded")
    func times() throws {
        for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 0] {
            let date = Date(timeIntervalSince1970: seconds)
            let time = CalendarTime(date)
            #expect(time.compactText.utf8.count == 16)
        }
    }
}
