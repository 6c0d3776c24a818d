internal import HTTPTypes

/// What a response's fields say about where its body ends (RFC 9112 §6), read by us because libcurl takes much for a
/// length or a coding that is none.
struct BodyFraming {
    private(set) var contentLength: Int64?
    private(set) var isChunked = false

    static func matters(_ name: HTTPField.Name) -> Bool { name == .contentLength || name == .transferEncoding }

    /// Takes note of a field; returns what is wrong with it.
    mutating func note(_ name: HTTPField.Name, _ value: UnsafeRawBufferPointer) -> String? {
        if name == .contentLength { return noteLength(value) }
        if name == .transferEncoding { return noteCoding(value) }
        return nil
    }

    /// What is wrong with the whole.
    func problem(version: HTTPVersion) -> String? {
        guard isChunked else { return nil }
        if version != .http11 { return "Transfer-Encoding in \(version)" }
        if contentLength != nil { return "both Content-Length and Transfer-Encoding" }
        return nil
    }

    private mutating func noteLength(_ value: UnsafeRawBufferPointer) -> String? {
        guard !value.isEmpty, value.count <= 19, value.allSatisfy(\.isDigit),
            let length = Int64(String(decoding: value, as: UTF8.self))
        else { return "Content-Length is not a number" }
        if let known = contentLength, known != length { return "two Content-Length fields differ" }
        contentLength = length
        return nil
    }

    private mutating func noteCoding(_ value: UnsafeRawBufferPointer) -> String? {
        let isChunkedAlone = value.count == 7 && zip(value, "chunked".utf8).allSatisfy { $0 | 0x20 == $1 }
        guard isChunkedAlone, !isChunked else { return "the transfer coding is not chunked once" }
        isChunked = true
        return nil
    }
}
