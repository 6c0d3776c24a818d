#if TestKit
internal import HTTPTypes
internal import NIOHTTP1

extension HTTPFields {
    /// The fields of a head as NIO parsed it, in their order, with their names and values as they were written: blanks that a client
    /// of HTTP/2 leaves around a value are seen.
    init(_ headers: HTTPHeaders) {
        self.init()
        self.reserveCapacity(headers.count)
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            self.append(HTTPField(name: name, lenientValue: Array(value.utf8)))
        }
    }

    /// The fields as NIO writes them.
    var headers: HTTPHeaders {
        HTTPHeaders(self.map { ($0.name.rawName, $0.value) })
    }
}

extension HTTPResponseHead {
    init(_ status: HTTPResponse.Status, fields: HTTPFields) {
        let phrase = status.reasonPhrase
        let status =
            phrase.isEmpty || phrase == HTTPResponseStatus(statusCode: status.code).reasonPhrase
            ? HTTPResponseStatus(statusCode: status.code)
            : .custom(code: UInt(status.code), reasonPhrase: phrase)
        self.init(version: .http1_1, status: status, headers: fields.headers)
    }
}
#endif
