internal import HTTPTypes

/// What a response's fields say about where its body ends (RFC 9112 §6), read by us because libcurl takes much for a
/// length or a coding that is none.
struct BodyFraming {
    private var length: Int64?
    private(set) var isChunked = false

    /// The length of the body, if a field says it. A transfer coding has the last word (RFC 9112 §6.3).
    var contentLength: Int64? { isChunked ? nil : length }

    /// Whether length and coding are both there, as where somebody smuggles responses in: what follows on the connection
    /// cannot be trusted.
    var isAmbiguous: Bool { isChunked && length != nil }

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
        return version == .http11 ? nil : "Transfer-Encoding in \(version)"
    }

    private mutating func noteLength(_ value: UnsafeRawBufferPointer) -> String? {
        guard let number = ContentLength.read(value) else { return "Content-Length is not a number" }
        if let length, length != number { return "two Content-Length fields differ" }
        length = number
        return nil
    }

    private mutating func noteCoding(_ value: UnsafeRawBufferPointer) -> String? {
        let isChunkedAlone = value.count == 7 && zip(value, "chunked".utf8).allSatisfy { $0 | 0x20 == $1 }
        guard isChunkedAlone, !isChunked else { return "the transfer coding is not chunked once" }
        isChunked = true
        return nil
    }
}
