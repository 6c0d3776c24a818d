/// The first line of a response (RFC 9112 §4).
enum StatusLine {
    /// Reads a line without its end. HTTP/2's stands for the `:status` field and has no reason.
    static func read(_ line: UnsafeRawBufferPointer) -> (HTTPVersion, status: Int, reason: String)? {
        guard line.count >= 8, line[0] == UInt8(ascii: "H"), line[1] == UInt8(ascii: "T"), line[2] == UInt8(ascii: "T"),
            line[3] == UInt8(ascii: "P"), line[4] == .slash
        else { return nil }
        let version: HTTPVersion
        var position = 6
        switch (line[5], line[6]) {
        case (UInt8(ascii: "1"), UInt8(ascii: ".")):
            guard line[7] == UInt8(ascii: "0") || line[7] == UInt8(ascii: "1") else { return nil }
            version = line[7] == UInt8(ascii: "0") ? .http10 : .http11
            position = 8
        case (UInt8(ascii: "2"), .space): version = .http2
        default: return nil
        }
        guard line.count >= position + 4, line[position] == .space else { return nil }
        let digits = line[(position + 1)..<(position + 4)]
        guard digits.allSatisfy(\.isDigit) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        position += 4
        guard position == line.count || line[position] == .space else { return nil }
        let reason = line[min(position + 1, line.count)...]
        guard reason.allSatisfy(\.isReceivedValueByte) else { return nil }
        return (version, status, text(of: reason))
    }

    /// A reason is ISO 8859-1, if it is not ASCII.
    private static func text(of reason: UnsafeRawBufferPointer.SubSequence) -> String {
        guard reason.contains(where: { $0 >= 0x80 }) else { return String(decoding: reason, as: UTF8.self) }
        return String(String.UnicodeScalarView(reason.map { Unicode.Scalar($0) }))
    }
}
