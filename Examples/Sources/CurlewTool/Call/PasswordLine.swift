/// The line of a password, made from the bytes of a terminal.
struct PasswordLine {
    enum State {
        case open, ended, interrupted
    }

    private(set) var state = State.open
    private var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ byte: UInt8) {
        switch byte {
        case 0x03, 0x1C: state = .interrupted
        case 0x04, 0x0A, 0x0D: state = .ended
        // A character may have several bytes.
        case 0x08, 0x7F: while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
        case 0x15: bytes = []
        default: bytes.append(byte)
        }
    }

    /// Ends the line at the end of the input.
    mutating func end() { state = .ended }
}
