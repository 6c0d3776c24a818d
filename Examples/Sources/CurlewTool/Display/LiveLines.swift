import Glibc

/// Lines at the end of a terminal that are drawn again in place.
struct LiveLines {
    private let descriptor: Int32
    /// The widths of the lines that were drawn last.
    private var drawn: [Int] = []

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Draws the lines in place of the last ones.
    mutating func draw(_ lines: [String]) {
        Terminal.write(beginning(width: width) + lines.map { "\($0)\n" }.joined(), to: descriptor)
        drawn = lines.map(Self.width)
    }

    var width: Int { Terminal.width(of: descriptor) ?? 80 }

    /// The greatest number of lines that can be drawn again: one less than the terminal has.
    var limit: Int { max(1, (Terminal.height(of: descriptor) ?? 24) - 1) }

    /// The control sequence that moves to the first of the lines and clears what follows. A terminal that became
    /// narrower has wrapped them.
    func beginning(width: Int) -> String {
        let rows = Self.rows(of: drawn, width: width)
        return rows > 0 ? "\u{1B}[\(rows)A\r\u{1B}[J" : ""
    }

    /// The columns of a line, without its colours.
    private static func width(_ line: String) -> Int {
        Columns.width(of: line.replacing("\u{1B}[31m", with: "").replacing("\u{1B}[0m", with: ""))
    }

    /// The rows that lines take on a terminal of a width.
    static func rows(of widths: [Int], width: Int) -> Int {
        widths.reduce(0) { $0 + max(1, ($1 + width - 1) / max(1, width)) }
    }
}
