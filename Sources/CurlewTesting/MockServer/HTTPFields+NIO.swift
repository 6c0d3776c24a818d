#if TestKit
internal import HTTPTypes
internal import NIOHTTP1

extension HTTPFields {
    /// The fields of a head parsed by NIO, in their order, with unchanged names and values. Spaces that an HTTP/2
    /// client sends around a value are kept.
    init(_ headers: HTTPHeaders) {
        self.init()
        self.reserveCapacity(headers.count)
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            self.append(HTTPField(name: name, lenientValue: Array(value.utf8)))
        }
    }

    /// The fields in NIO's type.
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
