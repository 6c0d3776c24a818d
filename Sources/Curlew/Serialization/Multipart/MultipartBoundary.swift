/// The text that parts a multipart body (RFC 2046 §5.1.1), and what is written around the parts with it.
struct MultipartBoundary: Sendable, Hashable {
    let text: String
    /// Whether the caller chose it. One of ours is as hard to meet by chance as to guess.
    let isChosen: Bool

    /// `Boundary+` and two random numbers of 32 bits, as 16 hexadecimal digits in capitals.
    static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        let digits = (0..<2).map { _ in hexadecimal(UInt32.random(in: 0...UInt32.max, using: &generator)) }
        return MultipartBoundary(random: "Boundary+" + digits.joined())
    }

    private init(random text: String) {
        self.text = text
        isChosen = false
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for what the grammar does not allow.
    init(_ text: String) throws {
        guard (1...70).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed), text.utf8.last != .space else {
            throw CurlewError(
                .invalidRequest, "a boundary has 1 to 70 letters, digits and '()+_,-./:=? and does not end with a space"
            )
        }
        self.text = text
        isChosen = true
    }

    /// Before a part's head.
    func opening(isFirst: Bool) -> [UInt8] { Array("\(isFirst ? "" : "\r\n")--\(text)\r\n".utf8) }

    /// Behind the last part, or alone where there is none.
    func closing(isFirst: Bool) -> [UInt8] { Array("\(isFirst ? "" : "\r\n")--\(text)--\r\n".utf8) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "'()+_,-./:=? ".utf8.contains(byte)
    }

    private static func hexadecimal(_ number: UInt32) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
