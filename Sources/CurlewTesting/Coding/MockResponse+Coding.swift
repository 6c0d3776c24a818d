#if TestKit
internal import HTTPTypes

extension MockResponse {
    /// The same response with a coded body; `Content-Encoding` names the codings in the order of the calls.
    ///
    /// - Throws: ``TestKitError`` when the body is a stream, whose bytes are not known beforehand.
    public func encoded(_ coding: ContentCoding) throws -> MockResponse {
        let bytes: [UInt8]
        switch self.body.source {
        case .none: bytes = []
        case .bytes(let held): bytes = held
        case .pattern(let count): bytes = BytePattern.bytes(count: count)
        case .stream: throw TestKitError("a streamed body cannot be coded beforehand")
        }
        var response = self
        response.body = .bytes(try coding.encode(bytes))
        let codings = [self.fields[.contentEncoding], coding.name].compactMap { $0 }
        response.fields[.contentEncoding] = codings.joined(separator: ", ")
        return response
    }
}
#endif
