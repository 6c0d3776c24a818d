/// JSON in indented and coloured lines, made from its bytes as they come.
///
/// The memory is constant but for a bit of the nesting. Numbers, names and escapes stay as they were sent. Text that is
/// not JSON is shown nearly as it is.
struct JSONPrinter: Sendable {
    private enum State { case structure, string, escape, literal }

    private enum Color: String {
        case name = "\u{1B}[34;1m"
        case string = "\u{1B}[32m"
        case number = "\u{1B}[36m"
        case word = "\u{1B}[33m"

        static let end = "\u{1B}[0m"
    }

    /// The depth from which further containers are not indented.
    private static let depthLimit = 10_000
    /// The deepest indentation, in levels.
    private static let indentationLimit = 40

    private let isColored: Bool
    private var text = TerminalText()
    private var state = State.structure
    /// For each open container, true for an object.
    private var containers: [Bool] = []
    private var hiddenDepth = 0
    /// True directly after the beginning of a container.
    private var isAtBeginning = false
    /// True where the name of a member is expected.
    private var expectsName = false
    /// True after a complete value outside all containers.
    private var hasValue = false
    private var output: [UInt8] = []

    init(isColored: Bool) { self.isColored = isColored }

    /// The output for further bytes.
    mutating func print(_ bytes: [UInt8]) -> [UInt8] {
        for byte in bytes { take(byte) }
        defer { output = [] }
        return output
    }

    /// The end of the output.
    mutating func finish() -> [UInt8] {
        endToken()
        if hasValue || !containers.isEmpty { output.append(0x0A) }
        defer { output = [] }
        return output
    }

    private mutating func take(_ byte: UInt8) {
        switch state {
        case .string: takeInString(byte)
        case .escape:
            append(byte)
            state = .string
        case .literal:
            guard Self.endsLiteral(byte) else { return append(byte) }
            endToken()
            takeStructure(byte)
        case .structure: takeStructure(byte)
        }
    }

    private mutating func takeInString(_ byte: UInt8) {
        append(byte)
        if byte == UInt8(ascii: "\\") { state = .escape }
        if byte == UInt8(ascii: "\"") { endToken() }
    }

    private mutating func takeStructure(_ byte: UInt8) {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D: return
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            beginValue()
            output.append(byte)
            open(isObject: byte == UInt8(ascii: "{"))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): close(byte)
        case UInt8(ascii: ","):
            output.append(byte)
            breakLine()
            expectsName = containers.last ?? false
        case UInt8(ascii: ":"):
            output += ": ".utf8
            expectsName = false
        case UInt8(ascii: "\""):
            beginValue()
            begin(expectsName ? .name : .string)
            state = .string
            append(byte)
        default:
            beginValue()
            begin(byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) ? .number : .word)
            state = .literal
            append(byte)
        }
    }

    private static func endsLiteral(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"),
            UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""):
            true
        default: false
        }
    }

    // MARK: Layout

    private mutating func open(isObject: Bool) {
        if containers.count < Self.depthLimit { containers.append(isObject) } else { hiddenDepth += 1 }
        isAtBeginning = true
        expectsName = isObject
    }

    private mutating func close(_ byte: UInt8) {
        if hiddenDepth > 0 { hiddenDepth -= 1 } else if !containers.isEmpty { containers.removeLast() }
        if !isAtBeginning { breakLine() }
        isAtBeginning = false
        output.append(byte)
        expectsName = false
        hasValue = containers.isEmpty
    }

    /// Breaks the line before the first value of a container, and between values outside all containers.
    private mutating func beginValue() {
        if isAtBeginning || (hasValue && containers.isEmpty) { breakLine() }
        isAtBeginning = false
        if containers.isEmpty { hasValue = false }
    }

    private mutating func breakLine() {
        output.append(0x0A)
        output += [UInt8](repeating: 0x20, count: 2 * min(containers.count, Self.indentationLimit))
    }

    // MARK: Tokens

    private mutating func begin(_ color: Color) { if isColored { output += color.rawValue.utf8 } }

    private mutating func append(_ byte: UInt8) { text.append(byte, to: &output) }

    private mutating func endToken() {
        guard state != .structure else { return }
        output += text.finish()
        if isColored { output += Color.end.utf8 }
        state = .structure
        if containers.isEmpty { hasValue = true }
    }
}
