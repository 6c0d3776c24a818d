import Testing

@Suite("curlew without arguments", .timeLimit(.minutes(1)))
struct DemoTests {
    @Test("the tour makes five exchanges with its own server, over one connection")
    func tour() async throws {
        let end = await (try ToolProcess([])).end()
        #expect(end.status == 0, "\(end.complaints)")
        let rows = end.output.split(separator: "\n").filter { $0.contains("HTTP/1.1") }
        #expect(rows.count == 5)
        #expect(rows.allSatisfy { $0.contains(" 200 ") })
        #expect(rows.first?.contains("new") == true)
        #expect(rows.dropFirst().allSatisfy { $0.contains("reused") })
    }
}
