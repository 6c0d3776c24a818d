#if Service
import CurlewService
import Testing

@Suite("The article on production")
struct InProductionArticleTests {
    @Test("the metrics table of the article equals the list of the code")
    func metrics() throws {
        let rows = RequestMetrics.all.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return
                "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels.isEmpty ? "–" : labels) | \(metric.meaning) |"
        }
        let found = try Article("InProduction").rows(of: "Metrics")
        #expect(found == rows, "the table should be:\n\(rows.joined(separator: "\n"))\n")
    }

    @Test("the article shows code that compiles")
    func snippets() throws { try Article("InProduction").expectCompiled() }
}
#endif
