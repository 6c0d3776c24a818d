extension JSONParser {
    /// A number.
    mutating func number() throws -> JSONNumber {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        guard let first = next, first.isDigit else {
            position = start
            throw fault("there is no value")
        }
        skipDigits()
        guard first != UInt8(ascii: "0") || isOneDigit(since: start) else {
            throw fault("a number begins with zero")
        }
        var isInteger = true
        if next == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try requireDigits()
        }
        if next.map({ $0 | 0x20 }) == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try requireDigits()
        }
        guard builds || !options.bigNumbers.isKept else { return JSONNumber(0) }
        let number = JSONNumber(literal: bytes[start..<position], isInteger: isInteger)
        guard options.bigNumbers.isKept || !number.isBig else {
            position = start
            throw fault("a number is too large or has too many digits")
        }
        return number
    }

    /// Whether exactly one digit was read since a number began.
    private func isOneDigit(since start: Int) -> Bool {
        position - start == (bytes[start] == UInt8(ascii: "-") ? 2 : 1)
    }

    private mutating func skipDigits() {
        while position < bytes.count, bytes[position].isDigit { position += 1 }
    }

    private mutating func requireDigits() throws {
        guard next?.isDigit == true else { throw fault("a number lacks a digit") }
        skipDigits()
    }
}
