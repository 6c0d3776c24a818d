import Glibc

/// Lines at the end of a terminal that are drawn again in place.
package struct LiveLines {
    private let descriptor: Int32
    /// The widths of the lines that were drawn last.
    private var drawn: [Int] = []

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Draws the lines in place of the last ones.
    package mutating func draw(_ lines: [String]) {
        Terminal.write(Self.text(lines, over: Self.rows(of: drawn, width: width)), to: descriptor)
        drawn = lines.map(Self.columns)
    }

    /// The text that draws lines over rows above the cursor. A terminal that became narrower has wrapped the rows.
    ///
    /// Each line is cleared by itself, because some terminals keep a copy of a screen that is cleared as a whole.
    static func text(_ lines: [String], over rows: Int) -> String {
        let beginning = rows > 0 ? "\u{1B}[\(rows)A" : ""
        let text = lines.map { "\r\u{1B}[K\($0)\n" }.joined()
        return beginning + text + (rows > lines.count ? "\u{1B}[J" : "")
    }

    package var width: Int { Terminal.width(of: descriptor) ?? 80 }

    /// The greatest number of lines that can be drawn again: one less than the terminal has.
    package var limit: Int { max(1, (Terminal.height(of: descriptor) ?? 24) - 1) }

    /// The columns of a line, without its colours.
    private static func columns(of line: String) -> Int {
        Columns.width(of: line.replacing("\u{1B}[31m", with: "").replacing("\u{1B}[0m", with: ""))
    }

    /// The rows that lines take on a terminal of a width.
    static func rows(of widths: [Int], width: Int) -> Int {
        widths.reduce(0) { $0 + max(1, ($1 + width - 1) / max(1, width)) }
    }
}
