import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The table of retried failures")
struct RetryTableTests {
    private func codes() throws -> [String: ErrorCode] {
        var codes: [String: ErrorCode] = [:]
        let source = try Repository.text(of: "Sources/CurlewCore/Message/ErrorCode.swift")
        for line in source.split(separator: "\n") where line.contains("public static let") {
            let name = line.split(separator: "public static let ")[1].split(separator: " ")[0]
            codes[String(name)] = ErrorCode(rawValue: String(line.split(separator: "\"")[1]))
        }
        return codes
    }

    @Test("the article lists every error code with its retry rule and a reason")
    func article() throws {
        let codes = try codes()
        var documented: [String: String] = [:]
        let article = try Repository.text(of: "DocC/Curlew.docc/HTTPBehaviour.md")
        for row in article.split(separator: "\n") where row.hasPrefix("| ``ErrorCode/") {
            let cells = row.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
            try #require(cells.count == 3 && !cells[2].isEmpty, "\(row)")
            documented[String(cells[0].dropFirst("``ErrorCode/".count).dropLast(2))] = cells[1]
        }
        #expect(codes.count > 30)
        for name in Set(codes.keys).union(documented.keys).sorted() {
            #expect(documented[name] == codes[name].map { $0.isTransient ? "yes" : "no" }, "\(name)")
        }
    }

    @Test("failures are retried as in the table: if idempotent, or any method without a connection")
    func behaviour() async throws {
        var link = Retry(attempts: 2, budget: nil)
        link.policy.backoff = Retry.Backoff(base: .zero)
        for (name, code) in try codes() {
            for (method, stage) in [
                (HTTPRequest.Method.get, CurlewError.Stage.exchanging), (.post, .exchanging), (.post, .connecting),
            ] {
                let stub = StubTransport { _ in .failure(code, stage: stage) }
                let session = try HTTPSession(transport: stub, chain: .bare) { [link] in link }
                let error = await curlewError { _ = try await session.send(method, "http://a.test/") }
                let isAgain = code.isTransient && (method == .get || stage == .connecting)
                #expect(error?.code == code)
                #expect(stub.received.count == (isAgain ? 2 : 1), "\(name) \(method) \(stage)")
            }
        }
    }
}
