/// Percent-decoding: bytes out of text with `%` and two hexadecimal digits in it (RFC 3986 §2.1).
enum PercentDecoding {
    /// - Parameter isStrict: Whether a `%` without two digits makes it nil; else it stays as it is.
    static func bytes(of text: some StringProtocol, isStrict: Bool) -> [UInt8]? {
        bytes(of: Array(text.utf8)[...], isStrict: isStrict)
    }

    static func bytes(of text: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == .percent else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap(\.hexValue)
            if digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else if isStrict {
                return nil
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

extension String {
    /// Text in ISO-8859-1: a byte is a scalar.
    init(latin1 bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        self.init(text)
    }

    /// Text in UTF-8 if it can be that, else in ISO-8859-1.
    init(guessing bytes: some Collection<UInt8>) {
        self = String(validating: bytes, as: UTF8.self) ?? String(latin1: bytes)
    }
}
