internal import CurlewPlatform

/// The value of User-Agent. It names the program and Curlew (RFC 9110 §10.1.5).
struct UserAgent {
    /// The version of the library. The changelog, the README and the articles repeat it; `ReleaseTests` compares them.
    static let curlewVersion = "0.1.0"

    /// The value for this process, determined once.
    static let ofProcess = UserAgent(program: executable ?? "")

    let text: String

    /// `program/1.4 Curlew/0.1.0`.
    /// - Parameters:
    ///   - program: The name. Latin letters outside ASCII are transliterated; other characters that are not allowed in
    ///     a product's name are removed.
    ///   - version: The program's version, if it has one.
    init(program: String, version: String? = nil) {
        var product = Self.token(program)
        if let version = version.map(Self.token), !version.isEmpty, !product.isEmpty { product += "/\(version)" }
        text = (product.isEmpty ? "" : product + " ") + "Curlew/\(Self.curlewVersion)"
    }

    /// The name as a token: letters lose their marks, and spaces become hyphens.
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

    /// The ASCII letters of a Latin letter, by its Unicode name: `LATIN SMALL LETTER E WITH ACUTE` becomes `e`.
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

    /// The name of the executable file of the process.
    static var executable: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        let name = path.prefix(max(0, length)).split(separator: CChar(UInt8.slash)).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }
}
