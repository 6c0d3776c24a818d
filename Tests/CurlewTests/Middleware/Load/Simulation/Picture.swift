/// Two runs as a picture: the successful and the failed calls of each second.
struct Picture {
    private static let panelWidth = 860.0
    private static let panelHeight = 190.0
    private static let left = 60.0
    private static let largest = 320.0

    private let panels: [(title: String, seconds: [Simulation.Second])]
    private let plan: Simulation.Plan
    private let length: Int

    init(_ panels: [(title: String, seconds: [Simulation.Second])], _ plan: Simulation.Plan) {
        self.panels = panels
        self.plan = plan
        length = panels.map(\.seconds.count).max() ?? 1
    }

    /// The picture in SVG.
    var svg: String {
        let height = Int(Double(panels.count) * (Self.panelHeight + 60) + 40)
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="960" height="\(height)" viewBox="0 0 960 \(height)" \
            font-family="sans-serif" font-size="13">
            """,
            ##"<rect width="960" height="\##(height)" fill="#ffffff"/>"##,
        ]
        for (index, panel) in panels.enumerated() {
            lines += draw(panel.title, panel.seconds, top: 40 + Double(index) * (Self.panelHeight + 60))
        }
        lines += legend(y: Double(height) - 14) + ["</svg>", ""]
        return lines.joined(separator: "\n")
    }

    private func x(_ second: Double) -> Double { Self.left + second / Double(length) * Self.panelWidth }

    private func y(_ count: Double, _ top: Double) -> Double {
        top + Self.panelHeight * (1 - min(count, Self.largest) / Self.largest)
    }

    /// A number in tenths of a unit, equal on every machine.
    private func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func draw(_ title: String, _ seconds: [Simulation.Second], top: Double) -> [String] {
        let bottom = top + Self.panelHeight
        var lines = [
            #"<text x="\#(text(Self.left))" y="\#(text(top - 12))" font-size="15" font-weight="bold">\#(title)</text>"#,
            """
            <rect x="\(text(x(plan.degraded.lowerBound)))" y="\(text(top))" \
            width="\(text(x(plan.degraded.upperBound) - x(plan.degraded.lowerBound)))" \
            height="\(text(Self.panelHeight))" fill="#e8e8e8"/>
            """,
        ]
        for count in [0.0, 100, 200, 300] {
            lines.append(
                """
                <line x1="\(text(Self.left))" y1="\(text(y(count, top)))" x2="\(text(Self.left + Self.panelWidth))" \
                y2="\(text(y(count, top)))" stroke="#cccccc"/>
                """)
            lines.append(
                #"<text x="\#(text(Self.left - 8))" y="\#(text(y(count, top) + 4))" text-anchor="end">\#(Int(count))</text>"#
            )
        }
        for second in stride(from: 0, through: length, by: 20) {
            lines.append(
                """
                <text x="\(text(x(Double(second))))" y="\(text(bottom + 18))" text-anchor="middle">\(second) s</text>
                """)
        }
        lines.append(line(seconds.map { Double($0.sent) }, top, color: "#999999", width: "1.2", dashes: true))
        lines.append(line(seconds.map { Double($0.failures) }, top, color: "#c0392b", width: "2"))
        lines.append(line(seconds.map { Double($0.successes) }, top, color: "#1e8449", width: "2"))
        return lines
    }

    private func line(_ values: [Double], _ top: Double, color: String, width: String, dashes: Bool = false) -> String {
        let points = values.enumerated().map { "\(text(x(Double($0.offset) + 0.5))),\(text(y($0.element, top)))" }
        let style = dashes ? #" stroke-dasharray="4 3""# : ""
        return """
            <polyline fill="none" stroke="\(color)" stroke-width="\(width)"\(style) points="\(points.joined(separator: " "))"/>
            """
    }

    private func legend(y: Double) -> [String] {
        let entries = [
            (0.0, "#1e8449", "calls that went well, a second"), (245, "#c0392b", "calls that failed"),
            (400, "#999999", "requests sent to the server"), (630, "#e0e0e0", "the server is degraded"),
        ]
        return entries.map { offset, color, words in
            let x = Self.left + offset
            return """
                <rect x="\(text(x))" y="\(text(y - 10))" width="12" height="12" fill="\(color)"/>\
                <text x="\(text(x + 18))" y="\(text(y))">\(words)</text>
                """
        }
    }
}
