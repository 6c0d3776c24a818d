extension UInt8 {
    /// ASCII letters in lower case, all else as it is.
    var lowercasedASCII: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }
}

extension ArraySlice<UInt8> {
    /// The bytes without the spaces and tabs around them.
    var trimmingBlanks: ArraySlice<UInt8> {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }

    /// - Parameter word: ASCII in lower case.
    func isEqual(ignoringCase word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && hasPrefix(ignoringCase: word)
    }

    /// - Parameter word: ASCII in lower case.
    func hasPrefix(ignoringCase word: StaticString) -> Bool {
        guard count >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { zip(self, $0).allSatisfy { $0.lowercasedASCII == $1 } }
    }
}
