import Foundation
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Digests of content")
struct ContentDigestTests {
    static let empty256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    /// The digest in the form of a field.
    private let coded = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test("hexadecimal digits are read in either case, and only in the full length")
    func hex() throws {
        let digest = try (ContentDigest(hex: Self.empty256))
        #expect(digest.algorithm == .sha256 && digest.description == Self.empty256)
        #expect(try ContentDigest(hex: Self.empty256.uppercased()) == digest)
        #expect(try ContentDigest(hex: String(repeating: "0f", count: 64)).algorithm == .sha512)
        for bad in ["", "00", Self.empty256.dropLast() + "g", Self.empty256 + "0", String(repeating: "é", count: 32)] {
            #expect(throws: CurlewError.self) { try ContentDigest(hex: String(bad)) }
        }
        #expect(ContentDigest(.sha512, bytes: digest.bytes) == nil)
        #expect(ContentDigest.Algorithm("md5") == nil)
    }

    @Test("a digest survives JSON, and a damaged one is rejected")
    func codable() throws {
        let digest = try (ContentDigest(hex: Self.empty256))
        let data = try JSONEncoder().encode(digest)
        #expect(try JSONDecoder().decode(ContentDigest.self, from: data) == digest)
        let text = String(decoding: data, as: UTF8.self)
        for bad in [
            text.replacingOccurrences(of: "sha-256", with: "sha-512"),
            text.replacingOccurrences(of: "e3b0", with: "e3"),
        ] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(ContentDigest.self, from: Data(bad.utf8)) }
        }
    }

    @Test("fields are parsed by RFC 9530, and invalid members are skipped")
    func fields() throws {
        let digest = try (ContentDigest(hex: Self.empty256))
        let strong = Data(repeating: 7, count: 64).base64EncodedString()
        for good in [
            "sha-256=:\(coded):", "  sha-256=:\(coded): ", "md5=:AAAA:, sha-256=:\(coded):;x=1",
            "x=\"a,b\",sha-256=:\(coded):",
            "sha-512=:AAAA:, sha-256=:\(coded):", "sha-256=:AAAA:, sha-256=:\(coded):",
            "sha-256=:\(coded):, sha-256=nonsense",
        ] { #expect(ContentDigest(field: good) == digest, "\(good)") }
        #expect(ContentDigest(field: "sha-512=:\(strong):, sha-256=:\(coded):")?.algorithm == .sha512)
        for bad in [
            "", "sha-256", "sha-256=\(coded)", "sha-256=:\(coded)", "sha-256=:AAAA:", "sha-256=::",
            "SHA-256=:\(coded):",
            "sha-256=:\(coded): x", "sha-256=:*:", "=:\(coded):", "unixsum=30637",
        ] { #expect(ContentDigest(field: bad) == nil, "\(bad)") }
    }

    @Test("the digest of a part comes from Content-Digest, that of the full representation from the stronger field")
    func choice() throws {
        let strong = Data(repeating: 7, count: 64).base64EncodedString()
        var fields = HTTPFields()
        fields[HTTPField.Name.reprDigest] = "sha-512=:\(strong):"
        fields[HTTPField.Name.contentDigest] = "sha-256=:\(coded):"
        #expect(ContentDigest(of: fields, isPartial: false)?.algorithm == .sha512)
        #expect(ContentDigest(of: fields, isPartial: true)?.description == Self.empty256)
        fields[HTTPField.Name.contentDigest] = nil
        #expect(ContentDigest(of: fields, isPartial: true) == nil)
    }
}
