/// A terminal of a fixed width that keeps its visible text. It processes the sequences that the tool writes.
struct Screen {
    private let width: Int
    private var rows: [[Character]] = [[]]
    private var row = 0
    private var column = 0

    init(width: Int) { self.width = width }

    /// The screen after a text.
    static func lines(_ text: String, width: Int) -> [String] {
        var screen = Screen(width: width)
        screen.write(text)
        return screen.lines
    }

    /// The lines without spaces at their ends, and without empty lines at the end.
    var lines: [String] {
        var lines = rows.map { row in String(String(row).reversed().drop { $0 == " " }.reversed()) }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    mutating func write(_ text: String) {
        var scalars = Substring(text).unicodeScalars
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\u{1B}":
                guard scalars.first == "[" else { continue }
                scalars.removeFirst()
                var number = ""
                while let next = scalars.popFirst() {
                    if next.properties.isAlphabetic {
                        perform(next, Int(number) ?? 1)
                        break
                    }
                    number.unicodeScalars.append(next)
                }
            case "\r": column = 0
            case "\n": feedLine()
            default: put(Character(scalar))
            }
        }
    }

    private mutating func feedLine() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func put(_ character: Character) {
        if column == width {
            column = 0
            feedLine()
        }
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = character
        column += 1
    }

    private mutating func perform(_ command: Unicode.Scalar, _ count: Int) {
        switch command {
        case "A": row = max(0, row - count)
        case "F":
            row = max(0, row - count)
            column = 0
        case "K": rows[row].removeSubrange(min(column, rows[row].count)...)
        case "J":
            rows[row].removeSubrange(min(column, rows[row].count)...)
            rows.removeSubrange((row + 1)...)
        default: break
        }
    }
}
