import Curlew
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCredentials

/// The examples of the S3 documentation (API reference, "Authenticating requests").
@Suite("AWS signatures of the documentation's examples")
struct AWSSignatureTests {
    let credential: AWSCredential
    let signature: AWSSignature
    let moment = Date(timeIntervalSince1970: 1_369_353_600)

    init() throws {
        credential = try AWSCredential(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        signature = try AWSSignature(service: "s3", region: "us-east-1")
    }

    func request(
        _ method: HTTPRequest.Method, _ path: String, host: String = "examplebucket.s3.amazonaws.com",
        _ fields: HTTPFields = [:]
    ) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: host, path: path, headerFields: fields)
    }

    func signatureText(_ request: HTTPRequest) throws -> String {
        let value = try #require(request.headerFields[.authorization])
        return String(value.suffix(64))
    }

    @Test("a download of a range has the documented signature")
    func range() throws {
        let signed = try signature.signed(
            request(.get, "/test.txt", [.range: "bytes=0-9"]), payload: .empty, credential: credential, at: moment)
        #expect(
            signed.headerFields[.authorization] == """
                AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
                Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41
                """)
    }

    @Test(
        "an upload whose name has a dollar sign has the documented signature",
        arguments: ["/test$file.text", "/test%24file.text", "/test%24file%2etext"])
    func upload(_ path: String) throws {
        let fields: HTTPFields = [
            .date: "Fri, 24 May 2013 00:00:00 GMT", .init("x-amz-storage-class")!: "REDUCED_REDUNDANCY",
        ]
        let signed = try signature.signed(
            request(.put, path, fields), payload: .bytes(Array("Welcome to Amazon S3.".utf8)), credential: credential,
            at: moment)
        #expect(try signatureText(signed) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test("parameters without a value, and parameters in another order, have the documented signatures")
    func parameters() throws {
        let lifecycle = try signature.signed(
            request(.get, "/?lifecycle"), payload: .empty, credential: credential, at: moment)
        #expect(try signatureText(lifecycle) == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        let list = try signature.signed(
            request(.get, "/?prefix=J&max-keys=2"), payload: .empty, credential: credential, at: moment)
        #expect(try signatureText(list) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test("a presigned URL has the documented signature")
    func presigned() throws {
        let signed = try signature.presigned(
            request(.get, "/test.txt"), credential: credential, at: moment, validity: .seconds(86_400))
        #expect(
            signed.path == """
                /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
                &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """)
    }

    @Test(
        "an upload in three signed chunks has the documented signatures for pieces of any size",
        arguments: [1000, 66_560, 65_536, 7])
    func chunks(_ piece: Int) throws {
        let upload = request(
            .put, "/examplebucket/chunkObject.txt", host: "s3.amazonaws.com",
            [.init("x-amz-storage-class")!: "REDUCED_REDUNDANCY"])
        var (signed, signer) = try signature.signedInChunks(upload, length: 66_560, credential: credential, at: moment)
        #expect(signed.headerFields[.contentLength] == "66824")
        #expect(signed.headerFields[.contentEncoding] == "aws-chunked")
        #expect(signed.headerFields[.init("x-amz-decoded-content-length")!] == "66560")
        #expect(try signatureText(signed) == "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
        var framed: [UInt8] = []
        for start in stride(from: 0, to: 66_560, by: piece) {
            framed += try signer.append([UInt8](repeating: UInt8(ascii: "a"), count: min(piece, 66_560 - start)))
        }
        framed += try signer.finish()
        #expect(framed.count == 66_824)
        let text = String(decoding: framed, as: UTF8.self)
        let heads = text.split(separator: "\r\n").filter { $0.contains("chunk-signature") }
        #expect(
            heads == [
                "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
            ])
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test("the length of a payload in chunks is exact", arguments: [0, 1, 8191, 8192, 8193, 16_384, 100_000])
    func contentLength(_ length: Int) throws {
        var (_, signer) = try signature.signedInChunks(
            request(.put, "/a"), length: Int64(length), chunkSize: 8192, credential: credential, at: moment)
        let framed = try signer.append([UInt8](repeating: 7, count: length)) + signer.finish()
        #expect(Int64(framed.count) == AWSChunkSigner.contentLength(of: Int64(length), chunkSize: 8192))
    }

    @Test("invalid lengths and sizes are refused")
    func badChunks() throws {
        #expect(AWSChunkSigner.contentLength(of: -1, chunkSize: 8192) == nil)
        #expect(AWSChunkSigner.contentLength(of: 1, chunkSize: 8191) == nil)
        #expect(AWSChunkSigner.contentLength(of: .max, chunkSize: 8192) == nil)
        var (_, signer) = try signature.signedInChunks(
            request(.put, "/a"), length: 10, credential: credential, at: moment)
        _ = try signer.append([1, 2])
        #expect(throws: CurlewError.self) { try signer.finish() }
        #expect(throws: CurlewError.self) { try signer.append([UInt8](repeating: 0, count: 9)) }
        _ = try signer.append([UInt8](repeating: 0, count: 8))
        _ = try signer.finish()
        #expect(throws: CurlewError.self) { try signer.finish() }
    }

    @Test("a parameter has the same signature with and without encoding, and a plus counts as a space")
    func encodings() throws {
        let paths = ["/?a=x%3Ay/z&b=1+2", "/?b=1%202&a=x:y%2fz", "/?&a=x%3ay%2Fz&&b=1%202"]
        let signatures = try paths.map { path in
            try signatureText(
                signature.signed(request(.get, path), payload: .empty, credential: credential, at: moment))
        }
        #expect(Set(signatures).count == 1)
    }

    @Test("a field that intermediaries change is not signed")
    func changedFields() throws {
        let plain = request(.get, "/", [.range: "bytes=0-9"])
        let names = ["Accept-Encoding", "User-Agent", "TE", "Expect"].compactMap { HTTPField.Name($0) }
        var other = plain
        for name in names { other.headerFields[name] = "a" }
        let signed = try signature.signed(other, payload: .empty, credential: credential, at: moment)
        #expect(
            signed.headerFields[.authorization]
                == (try signature.signed(plain, payload: .empty, credential: credential, at: moment))
                .headerFields[.authorization])
    }

    @Test("a later signature replaces the earlier one")
    func again() throws {
        let token = try AWSCredential(accessKey: "AKID", secretKey: "secret", sessionToken: "token")
        let first = try signature.signed(request(.get, "/a"), payload: .empty, credential: token, at: moment)
        let second = try signature.signed(first, payload: .empty, credential: token, at: moment)
        #expect(first == second)
        let link = try signature.presigned(
            request(.get, "/a?b=c&d"), credential: token, at: moment, validity: .seconds(60))
        #expect(
            try signature.presigned(link, credential: token, at: moment, validity: .seconds(60)).path == link.path)
        let upload = request(.put, "/a", [.contentEncoding: "gzip, br"])
        let chunks = try signature.signedInChunks(upload, length: 5, credential: token, at: moment).request
        #expect(chunks.headerFields[.contentEncoding] == "aws-chunked,gzip,br")
        #expect(try signature.signedInChunks(chunks, length: 5, credential: token, at: moment).request == chunks)
    }

    @Test("a payload by its SHA-256 has the signature of its bytes")
    func payloadByHash() throws {
        let bytes = Array("Welcome to Amazon S3.".utf8)
        let payloads: [AWSSignature.Payload] = [.bytes(bytes), try .sha256(Hashing.sha256(bytes))]
        let signed = try payloads.map {
            try signature.signed(request(.put, "/a"), payload: $0, credential: credential, at: moment)
        }
        #expect(signed[0] == signed[1])
        #expect(
            signed[1].headerFields[.amzContentSHA256]
                == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    }

    @Test("a signature of a new payload does not use the hash of the earlier payload")
    func staleHash() throws {
        let iam = try AWSSignature(service: "iam", region: "us-east-1")
        let first = try iam.signed(request(.post, "/"), payload: .unsigned, credential: credential, at: moment)
        #expect(first.headerFields[.amzContentSHA256] == "UNSIGNED-PAYLOAD")
        let second = try iam.signed(first, payload: .bytes([1]), credential: credential, at: moment)
        #expect(second.headerFields[.amzContentSHA256] == nil)
        #expect(
            second == (try iam.signed(request(.post, "/"), payload: .bytes([1]), credential: credential, at: moment)))
    }

    @Test("a signature in fields and one in the query replace each other")
    func otherForm() throws {
        let token = try AWSCredential(accessKey: "AKID", secretKey: "secret", sessionToken: "token")
        let plain = request(.get, "/a?b=c&d", [.range: "bytes=0-9"])
        let inFields = try signature.signed(plain, payload: .empty, credential: token, at: moment)
        let inQuery = try signature.presigned(plain, credential: token, at: moment, validity: .seconds(60))
        #expect(try signature.presigned(inFields, credential: token, at: moment, validity: .seconds(60)) == inQuery)
        #expect(inQuery.headerFields == plain.headerFields)
        #expect(try signature.signed(inQuery, payload: .empty, credential: token, at: moment) == inFields)
        #expect(inFields.path == "/a?b=c&d")
        let chunks = try signature.signedInChunks(plain, length: 5, credential: token, at: moment).request
        #expect(try signature.signed(chunks, payload: .empty, credential: token, at: moment) == inFields)
    }

    @Test("requests to S3 contain the hash of the payload under both rules for the path")
    func pathRules() throws {
        let normalized = try AWSSignature(service: "s3", region: "us-east-1", pathRule: .normalized)
        let signed = try normalized.signed(request(.get, "/a"), payload: .empty, credential: credential, at: moment)
        #expect(signed.headerFields[.amzContentSHA256]?.hasPrefix("e3b0c442") == true)
        #expect(
            try normalized.presigned(request(.get, "/a"), credential: credential, at: moment, validity: .seconds(60))
                == signature.presigned(request(.get, "/a"), credential: credential, at: moment, validity: .seconds(60)))
        let other = try AWSSignature(service: "iam", region: "us-east-1", pathRule: .asRequested)
        let plain = try other.signed(request(.get, "/a"), payload: .empty, credential: credential, at: moment)
        #expect(plain.headerFields[.amzContentSHA256] == nil)
    }

    @Test("a plus in a query counts as a space for every service", arguments: ["s3", "execute-api"])
    func plus(_ service: String) throws {
        let signature = try AWSSignature(service: service, region: "us-east-1")
        let texts = try ["/?a=1+2", "/?a=1%202", "/?a=1%2B2"].map { path in
            try signatureText(
                signature.signed(request(.get, path), payload: .empty, credential: credential, at: moment))
        }
        #expect(texts[0] == texts[1])
        #expect(texts[0] != texts[2])
    }

    @Test("a request without a host, and names that would change the scope, are refused")
    func refusals() throws {
        let hostless = HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/")
        #expect(throws: CurlewError.self) {
            try signature.signed(hostless, payload: .empty, credential: credential, at: moment)
        }
        for name in ["", "a/b", "a,b", "a b", "é"] {
            #expect(throws: CurlewError.self) { try AWSSignature(service: name, region: "a") }
            #expect(throws: CurlewError.self) { try AWSSignature(service: "a", region: name) }
        }
        for validity in [Duration.zero, .seconds(604_801), .seconds(-1)] {
            #expect(throws: CurlewError.self) {
                try signature.presigned(request(.get, "/"), credential: credential, at: moment, validity: validity)
            }
        }
        #expect(throws: CurlewError.self) { try AWSSignature.Payload.sha256([1]) }
    }

    @Test("the error of the local clock is computed from the server's refusal", arguments: [-7200, 7200, 301, -241])
    func skew(_ seconds: Int) throws {
        let response = HTTPResponse(status: .forbidden, headerFields: [.date: "Fri, 24 May 2013 00:00:00 GMT"])
        let local = moment.addingTimeInterval(Double(-seconds))
        for code in [
            "RequestTimeTooSkewed", "SignatureDoesNotMatch", "com.amazonaws#InvalidSignatureException:http://x/",
        ] {
            #expect(AWSSignature.clockOffset(from: response, errorCode: code, at: local) == .seconds(seconds))
        }
        #expect(AWSSignature.clockOffset(from: response, errorCode: "NoSuchKey", at: local) == nil)
        #expect(AWSSignature.clockOffset(from: response, at: local) == nil)
        var named = response
        named.headerFields[.init("x-amzn-ErrorType")!] = "RequestExpired:"
        #expect(AWSSignature.clockOffset(from: named, at: local) == .seconds(seconds))
    }

    @Test("a small or implausible difference of clocks and a response without a date are ignored")
    func noSkew() throws {
        var response = HTTPResponse(status: .forbidden, headerFields: [.date: "Fri, 24 May 2013 00:00:00 GMT"])
        let offset = { (response: HTTPResponse, seconds: Double, code: String) in
            AWSSignature.clockOffset(
                from: response, errorCode: code, at: moment.addingTimeInterval(seconds))
        }
        #expect(offset(response, 239, "SignatureDoesNotMatch") == nil)
        #expect(offset(response, 90_000, "RequestTimeTooSkewed") == nil)
        #expect(offset(response, .infinity, "RequestTimeTooSkewed") == nil)
        #expect(offset(response, .nan, "RequestTimeTooSkewed") == nil)
        response.status = .ok
        #expect(offset(response, 900, "RequestTimeTooSkewed") == nil)
        response.status = .forbidden
        response.headerFields[.date] = "yesterday"
        #expect(offset(response, 900, "RequestTimeTooSkewed") == nil)
    }

    @Test(
        "requests of AWS's published test suite have their published signatures",
        arguments: [
            ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("GET", "/example/..", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("GET", "/./", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("GET", "//", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            ("GET", "/\u{1234}", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            (
                "GET", "/?Param2=value2&Param1=value1",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"
            ),
        ])
    func testSuite(_ method: String, _ path: String, _ expected: String) throws {
        let credential = try AWSCredential(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let signature = try AWSSignature(service: "service", region: "us-east-1")
        let method = try #require(HTTPRequest.Method(method))
        let signed = try signature.signed(
            request(method, path, host: "example.amazonaws.com"), payload: .empty, credential: credential,
            at: Date(timeIntervalSince1970: 1_440_938_160))
        #expect(try signatureText(signed) == expected)
    }
}
