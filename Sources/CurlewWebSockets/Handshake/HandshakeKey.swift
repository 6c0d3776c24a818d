internal import COpenSSL
internal import FoundationEssentials

/// The value of Sec-WebSocket-Key: 16 random bytes in Base64 (RFC 6455 §4.1).
package struct HandshakeKey: Sendable, Hashable {
    /// The Base64 of the bytes.
    package let text: String

    /// Makes a key.
    package init(random: inout some RandomNumberGenerator) {
        var bytes: [UInt8] = []
        for _ in 0..<2 {
            let number: UInt64 = random.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        text = Data(bytes).base64EncodedString()
    }

    /// Makes a key from the system's source of random numbers.
    package init() {
        var random = SystemRandomNumberGenerator()
        self.init(random: &random)
    }

    /// Makes a key from a client's text; nil if the text is not the Base64 of 16 bytes.
    package init?(_ text: String) {
        guard text.utf8.count == 24, Data(base64Encoded: text)?.count == 16 else { return nil }
        self.text = text
    }

    /// The value of Sec-WebSocket-Accept for the key: the Base64 of the SHA-1 of the key and a fixed text (RFC 6455
    /// §4.2.2). It shows that the server understood the handshake; SHA-1 protects nothing here.
    ///
    /// The value is nil if this OpenSSL has no SHA-1.
    package var acceptValue: String? {
        let input = Array("\(text)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        var size: UInt32 = 0
        guard EVP_Digest(input, input.count, &digest, &size, EVP_sha1(), nil) == 1, size == digest.count else {
            return nil
        }
        return Data(digest).base64EncodedString()
    }
}
