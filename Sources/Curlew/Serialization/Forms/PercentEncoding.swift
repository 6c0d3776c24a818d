/// The escaping of names and values: letters, digits and `-._~/?` stay, every other byte of UTF-8 becomes `%XX`.
struct PercentEncoding {
    let spaces: SpaceStyle

    func append(_ string: String, to output: inout [UInt8]) {
        var string = string
        string.withUTF8 { append($0, to: &output) }
    }

    func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0, to: &output) }
    }

    /// Runs of what stays are appended as a whole.
    private func append(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        var start = 0
        for (position, byte) in bytes.enumerated() where !Self.isKept(byte) {
            if start < position { output.append(contentsOf: bytes[start..<position]) }
            start = position + 1
            if byte == .space, spaces == .plus {
                output.append(UInt8(ascii: "+"))
            } else {
                Self.appendEscaped(byte, to: &output)
            }
        }
        if start < bytes.count { output.append(contentsOf: bytes[start...]) }
    }

    static func appendEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "%"))
        output.append(hexadecimalDigit(byte >> 4))
        output.append(hexadecimalDigit(byte & 15))
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// A bit for each ASCII character: `-./0123456789?` in the lower half, letters, `_` and `~` in the upper.
    static func isKept(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask: UInt64 = byte < 64 ? 0x83FF_E000_0000_0000 : 0x47FF_FFFE_87FF_FFFE
        return mask >> (byte & 63) & 1 == 1
    }
}
