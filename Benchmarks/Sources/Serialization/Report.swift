/// A row of the results.
struct Row {
    let workload: String
    let client: String
    /// The median processor time in microseconds.
    let median: Double
    let ratioToPeer: Double
}

/// The output of results as a table and a file.
enum Report {
    private static let metric = "cpu_us_per_operation"

    /// The rows in the format of `bench.json`, one per line.
    static func json(_ rows: [Row]) -> String {
        let lines = rows.map { row in
            #"  {"workload": "\#(row.workload)", "client": "\#(row.client)", "metric": "\#(metric)", "#
                + #""median": \#(rounded(row.median)), "ratio_to_peer": \#(rounded(row.ratioToPeer))}"#
        }
        return "[\n\(lines.joined(separator: ",\n"))\n]\n"
    }

    /// The rows in a readable format.
    static func lines(_ rows: [Row], withHead: Bool) -> String {
        let head = [["workload", "client", "processor µs", "x peer"]]
        let cells = rows.map { [$0.workload, $0.client, "\(rounded($0.median))", "\(rounded($0.ratioToPeer))"] }
        return ((withHead ? head : []) + cells).map(line).joined(separator: "\n")
    }

    private static func line(_ cells: [String]) -> String {
        zip(cells, [20, 16, 14, 8]).enumerated().map { place, cell in
            let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return place < 2 ? cell.0 + space : space + cell.0
        }.joined(separator: " ")
    }

    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
