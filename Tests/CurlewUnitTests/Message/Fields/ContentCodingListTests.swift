import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("The list of content codings")
struct ContentCodingListTests {
    private func fields(_ values: String...) -> HTTPFields {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentEncoding, value: value)) }
        return fields
    }

    @Test(
        "names are in lower case and in order, without identity and empty members",
        arguments: [
            ([], []), ([""], []), ([" , ,"], []), (["identity"], []), (["GZip"], ["gzip"]),
            (["deflate, br"], ["deflate", "br"]), (["gzip", "\t zstd \t"], ["gzip", "zstd"]),
            (["identity,gzip , identity"], ["gzip"]),
        ] as [([String], [String])])
    func names(_ values: [String], _ expected: [String]) {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentEncoding, value: value)) }
        #expect(ContentCodingList(fields).names == expected)
    }

    @Test("an unknown coding stays in the list, and makes it undecodable")
    func unknown() {
        #expect(ContentCodingList(fields("gzip, curlew")).names == ["gzip", "curlew"])
        #expect(ContentDecoderKind.all(of: ContentCodingList(fields("gzip, curlew"))) == nil)
        #expect(ContentDecoderKind.all(of: ContentCodingList(fields("gzip;q=1"))) == nil)
    }

    @Test("each announced coding has a decoder, and so has its older name")
    func announced() throws {
        #expect(ContentDecoderKind.allCases.map(\.name) == ["gzip", "deflate", "br", "zstd"])
        for kind in ContentDecoderKind.allCases {
            #expect(ContentDecoderKind(name: kind.name) == kind)
            _ = try kind.makeDecoder()
        }
        #expect(ContentDecoderKind(name: "x-gzip") == .gzip)
        #expect(ContentDecoderKind.all(of: ContentCodingList(fields("x-gzip, br"))) == [.gzip, .brotli])
    }
}
