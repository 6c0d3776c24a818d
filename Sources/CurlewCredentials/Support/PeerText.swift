/// Text that a peer has written, made fit for one line of a log.
enum PeerText {
    /// The text with control characters escaped as `\n` or `\u{7F}`, and cut after a number of scalars.
    ///
    /// Characters that reverse the direction of text or end a line in some programs are escaped too.
    static func escaped(_ text: String, limit: Int) -> String {
        var escaped = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else {
                escaped.append("…")
                break
            }
            count += 1
            if isDangerous(scalar) {
                escaped.append(contentsOf: name(of: scalar).unicodeScalars)
            } else {
                escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    private static func name(of scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
