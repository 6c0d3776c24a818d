internal import FoundationEssentials

/// Textual encodings (RFC 7468): the blocks between `-----BEGIN` and `-----END`.
enum PEMText {
    /// Whether the bytes hold a block, as opposed to DER.
    static func isPEM(_ bytes: [UInt8]) -> Bool { find(begin, in: bytes, from: 0) != nil }

    /// The contents of the blocks with one of the labels, in order; others are passed over.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a block of such a label that is broken.
    static func blocks(in bytes: [UInt8], labels: Set<String>) throws -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        var position = 0
        while let start = find(begin, in: bytes, from: position) {
            guard let labelEnd = find(dashes, in: bytes, from: start + begin.count) else {
                throw CurlewError(.invalidTLSSetting, "a PEM block has no end of its first line")
            }
            let label = String(decoding: bytes[(start + begin.count)..<labelEnd], as: UTF8.self)
            let body = labelEnd + dashes.count
            let end = Array("-----END \(label)-----".utf8)
            guard let bodyEnd = find(end, in: bytes, from: body) else {
                throw CurlewError(.invalidTLSSetting, "a PEM block has no end")
            }
            position = bodyEnd + end.count
            guard labels.contains(label) else { continue }
            let text = bytes[body..<bodyEnd].filter { $0 != 0x0A && $0 != 0x0D && $0 != 0x20 && $0 != 0x09 }
            guard let data = Data(base64Encoded: Data(text)), !data.isEmpty else {
                throw CurlewError(.invalidTLSSetting, "a PEM block is not Base64")
            }
            blocks.append(Array(data))
        }
        return blocks
    }

    static let certificateLabels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE"]

    private static let begin = Array("-----BEGIN ".utf8)
    private static let dashes = Array("-----".utf8)

    private static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= pattern.count, start <= bytes.count - pattern.count else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            pattern.withUnsafeBufferPointer { pattern in
                (start...(bytes.count - pattern.count)).first { offset in
                    bytes[offset] == pattern[0] && (1..<pattern.count).allSatisfy { bytes[offset + $0] == pattern[$0] }
                }
            }
        }
    }
}
