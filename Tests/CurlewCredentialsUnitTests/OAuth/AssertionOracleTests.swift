import Curlew
import Foundation
import Testing

@testable import CurlewCredentials

/// JSON Web Tokens that joserfc and PyJWT have signed (`Oracle/oauth.py`).
///
/// If the environment has `CURLEW_ORACLE_OUTPUT`, the signed tokens are written to that file, and the script checks
/// them.
@Suite("Assertions of clients against joserfc and PyJWT")
struct AssertionOracleTests {
    struct Results: Decodable {
        var keys: [String: String]
        var assertions: [Assertion]
    }

    struct Assertion: Decodable {
        var algorithm: String
        var client: String
        var endpoint: String
        var seconds: Double
        var identifier: String
        var keyID: String?
        var audience: String?
        var token: String

        func sign(with key: SigningKey) throws -> String {
            let digits = Array(identifier.utf8)
            let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
            }
            var numbers = FixedNumbers(bytes: bytes)
            return try AssertionSigner(key, keyID: keyID, audience: audience).assertion(
                client: client, endpoint: endpoint, at: Date(timeIntervalSince1970: seconds), using: &numbers)
        }
    }

    static let results = Result { try Oracle.load("oauth.json", as: Results.self) }

    func key(_ name: String) throws -> SigningKey {
        try SigningKey(pem: try #require(Self.results.get().keys[name]))
    }

    static func parts(_ token: String) throws -> (signed: [UInt8], signature: [UInt8]) {
        let end = try #require(token.utf8.lastIndex(of: UInt8(ascii: ".")))
        let text = token[token.utf8.index(after: end)...].replacing("-", with: "+").replacing("_", with: "/")
        return (Array(token[..<end].utf8), try #require(Base64.decode(text.utf8)))
    }

    @Test("an assertion by RS256 is identical, byte for byte")
    func rsa() throws {
        let key = try key("rsa")
        let cases = try Self.results.get().assertions.filter { $0.algorithm == "RS256" }
        #expect(cases.count >= 50)
        for example in cases {
            let token = try example.sign(with: key)
            #expect(token.hasSameBytes(as: example.token))
        }
    }

    @Test("an assertion by ES256 signs the same bytes, and the signatures of both sides are correct")
    func p256() throws {
        let key = try key("p256")
        let publicKey = try VerificationKey(pem: try #require(Self.results.get().keys["p256Public"]))
        let cases = try Self.results.get().assertions.filter { $0.algorithm == "ES256" }
        #expect(cases.count >= 50)
        for example in cases {
            let own = try Self.parts(example.sign(with: key))
            var other = try Self.parts(example.token)
            #expect(own.signed == other.signed)
            #expect(other.signature.count == 64)
            #expect(try publicKey.verify(own.signature, of: own.signed, by: .ecdsaP256SHA256))
            #expect(try publicKey.verify(other.signature, of: other.signed, by: .ecdsaP256SHA256))
            other.signature[9] ^= 1
            #expect(try !publicKey.verify(other.signature, of: other.signed, by: .ecdsaP256SHA256))
            #expect(try !publicKey.verify(other.signature.dropLast(), of: other.signed, by: .ecdsaP256SHA256))
        }
    }

    @Test(
        "the tokens that the script verifies are written",
        .enabled(if: ProcessInfo.processInfo.environment["CURLEW_ORACLE_OUTPUT"] != nil))
    func output() throws {
        let path = try #require(ProcessInfo.processInfo.environment["CURLEW_ORACLE_OUTPUT"])
        let tokens = try Self.results.get().assertions.flatMap { example in
            let key = try key(example.algorithm == "RS256" ? "rsa" : "p256")
            return try (0..<5).map { _ in try example.sign(with: key) }
        }
        try JSONEncoder().encode(tokens).write(to: URL(fileURLWithPath: path))
    }

    @Test("keys of every form are read, and their public parts verify their signatures")
    func forms() throws {
        let keys = try Self.results.get().keys
        let message = Array("message".utf8)
        for name in ["rsa", "rsaTraditional", "p256", "p256Traditional", "p384", "ed25519"] {
            let key = try key(name)
            for scheme in key.schemes {
                let signature = try key.sign(message, by: scheme)
                #expect(try key.verificationKey.verify(signature, of: message, by: scheme), "\(name) \(scheme)")
                #expect(try !key.verificationKey.verify(signature, of: message + [0], by: scheme))
            }
        }
        #expect(try SigningKey(pem: keys["rsaEncrypted"] ?? "", passphrase: "open sesame").schemes.contains(.rsaSHA256))
    }

    @Test("a wrong kind or size of a key, a wrong passphrase and other text are errors without parts of the key")
    func refusals() throws {
        let keys = try Self.results.get().keys
        let refused: [(String, String?)] = [
            ("rsa1024", nil), ("p521", nil), ("k256", nil), ("rsaEncrypted", nil), ("rsaEncrypted", "sesame"),
            ("rsaPublic", nil),
        ]
        for (name, passphrase) in refused {
            let pem = try #require(keys[name])
            let error = #expect(throws: CurlewError.self, "\(name)") {
                try SigningKey(pem: pem, passphrase: passphrase)
            }
            #expect(error?.code == .invalidCredential)
            #expect(error?.description.contains("sesame") == false)
        }
        for text in ["", "no key", String(repeating: "x", count: 70_000)] {
            #expect(throws: CurlewError.self) { try SigningKey(pem: text) }
            #expect(throws: CurlewError.self) { try VerificationKey(pem: text) }
        }
        for name in ["p384", "ed25519"] {
            let key = try key(name)
            #expect(throws: CurlewError.self) { try OAuth.ClientAuthentication.privateKey(key) }
        }
        #expect(throws: CurlewError.self) {
            try OAuth.ClientAuthentication.privateKey(SigningKey(sharedSecret: [UInt8](repeating: 1, count: 32)))
        }
        #expect(throws: CurlewError.self) { try SigningKey(sharedSecret: [1, 2, 3]) }
        #expect(throws: CurlewError.self) { try key("p256").sign([], by: .ed25519) }
    }
}
