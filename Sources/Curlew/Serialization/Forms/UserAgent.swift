internal import Glibc

/// The value of User-Agent that says which program on which system asks.
struct UserAgent {
    let text: String

    /// `program (Linux 6.1.0)`. An executable of Linux carries no version that could be named; one who has one gives it.
    /// - Parameters:
    ///   - program: The name; what is not ASCII is transliterated from Latin letters or left out, and so is what may not
    ///     stand in a product's name (RFC 9110 §10.1.5).
    ///   - version: The program's version, if it has one.
    ///   - release: The kernel's release; only the numbers that it begins with are told.
    init(program: String, version: String? = nil, release: String) {
        let name = Self.token(program)
        var text = name.isEmpty ? "Curlew" : name
        if let version = version.map(Self.token), !version.isEmpty { text += "/\(version)" }
        let numbers = release.utf8.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        self.text = text + (numbers.isEmpty ? " (Linux)" : " (Linux \(Substring(numbers)))")
    }

    /// Of this process.
    static func ofProcess(version: String? = nil) -> UserAgent {
        UserAgent(program: executable ?? "", version: version, release: kernelRelease)
    }

    /// Letters with marks lose them, spaces become hyphens.
    private static func token(_ name: String) -> String {
        var token: [UInt8] = []
        for scalar in name.unicodeScalars {
            if scalar == " " {
                token.append(UInt8(ascii: "-"))
            } else if scalar.isASCII {
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                if byte.isTokenByte { token.append(byte) }
            } else {
                token += latin(scalar).utf8
            }
        }
        return String(decoding: token.prefix(100), as: UTF8.self)
    }

    /// The ASCII letters of a Latin one, by the name that Unicode gives it: `LATIN SMALL LETTER E WITH ACUTE` is `e`.
    private static func latin(_ scalar: Unicode.Scalar) -> String {
        let words = scalar.properties.name?.split(separator: " ") ?? []
        guard words.count > 3, words[0] == "LATIN", words[2] == "LETTER" else { return "" }
        let letters: String
        switch words[3] {
        case "SHARP": letters = "SS"
        case "ETH": letters = "D"
        case "THORN": letters = "TH"
        case "DOTLESS": letters = "I"
        case let name where name.count <= 2: letters = String(name)
        default: return ""
        }
        return words[1] == "SMALL" ? letters.lowercased() : letters
    }

    /// The name of the file that the process runs.
    private static var executable: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        let name = path.prefix(max(0, length)).split(separator: CChar(UInt8.slash)).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    private static var kernelRelease: String {
        var system = utsname()
        guard uname(&system) == 0 else { return "" }
        return withUnsafeBytes(of: system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
