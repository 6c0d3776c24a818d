#if TestKit
internal import COpenSSL

/// The encoder of the textual format of RFC 7468.
enum PEM {
    static func encode(_ bytes: [UInt8], label: String) -> String {
        // EVP_EncodeBlock writes four characters for every three bytes, and a zero byte.
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let length = Int(EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count)))
        var lines: [String] = []
        var start = 0
        while start < length {
            let end = min(start + 64, length)
            lines.append(String(decoding: encoded[start..<end], as: UTF8.self))
            start = end
        }
        return "-----BEGIN \(label)-----\n\(lines.joined(separator: "\n"))\n-----END \(label)-----\n"
    }
}
#endif
