internal import Curlew

/// Text from a peer, escaped for one line of a log.
enum PeerText {
    /// The text with control characters escaped as `\n` or `\u{7F}`. A text beyond the limit is shortened, and ends
    /// with an ellipsis, which the limit includes.
    ///
    /// Characters that reverse the direction of text or end a line in some programs are escaped too.
    static func escaped(_ text: String, limit: Int) -> String {
        var pieces: [String.UnicodeScalarView] = []
        var count = 0
        for scalar in text.unicodeScalars {
            let piece = isDangerous(scalar) ? name(of: scalar).unicodeScalars : String.UnicodeScalarView([scalar])
            pieces.append(piece)
            count += piece.count
            guard count <= limit else {
                while count >= limit, let last = pieces.popLast() { count -= last.count }
                pieces.append(String.UnicodeScalarView(["…"]))
                break
            }
        }
        return String(String.UnicodeScalarView(pieces.joined()))
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
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
