internal import CurlewPlatform
internal import FoundationEssentials

/// Files of certificates, keys and lists, read completely up to a limit. The functions block, so they must not run on a
/// loop.
package enum SecurityFile {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a file that is unreadable or too large.
    package static func bytes(of path: String, limit: Int) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw unreadable(path) }
        guard status.st_size <= limit else {
            throw CurlewError(.invalidTLSSetting, "the file \(path) has more than \(limit) bytes")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: filled), $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }

    /// The names in a directory, sorted, without those that begin with a dot.
    static func names(inDirectory path: String) throws -> [String] {
        guard let directory = opendir(path) else { throw unreadable(path) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private static func unreadable(_ path: String) -> CurlewError {
        CurlewError(.invalidTLSSetting, "\(path) cannot be read")
    }
}

/// Textual encodings (RFC 7468): the blocks between `-----BEGIN` and `-----END`.
enum PEMText {
    /// True if the bytes contain a PEM block, so they are not DER.
    static func isPEM(_ bytes: [UInt8]) -> Bool { find(begin, in: bytes, from: 0) != nil }

    /// The contents of the blocks with one of the labels, in order; other blocks are skipped.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for an invalid block with such a label.
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
