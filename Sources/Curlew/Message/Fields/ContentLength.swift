/// The value of Content-Length (RFC 9110 §8.6).
enum ContentLength {
    /// The number, which may stand there several times with commas between: that is what becomes of equal fields on their
    /// way. nil for anything else.
    static func read(_ value: some Collection<UInt8>) -> Int64? {
        guard value.contains(.comma) else { return number(value) }
        var length: Int64?
        for text in value.split(separator: .comma, omittingEmptySubsequences: false) {
            guard let number = element(text), length ?? number == number else { return nil }
            length = number
        }
        return length
    }

    private static func element(_ text: some Collection<UInt8>) -> Int64? {
        let start = text.drop(while: \.isBlank)
        let digits = start.prefix(while: \.isDigit)
        return start.dropFirst(digits.count).allSatisfy(\.isBlank) ? number(digits) : nil
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.count <= 19, digits.allSatisfy(\.isDigit) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
