import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Logging
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

/// A link, a listener, a log handler and a dispatch that record the calls that reach them.
private final class Trail: CallListener, Sendable {
    private let noted = Guarded<[String]>([])

    var steps: [String] { noted.withLock { $0 } }

    func note(_ step: String) { noted.withLock { $0.append(step) } }

    func receive(_ event: CallEvent) {}

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) { note("listeners of the call") }
}

private struct Marker: CurlewMiddleware {
    let trail: Trail
    let step: String
    var dispatch: (any RequestDispatch)?

    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse {
        if request.fields[.userAgent] == "default" { trail.note("default fields") }
        trail.note(step)
        var request = request
        if let dispatch {
            request.options.dispatch = dispatch
            request.fields[.authorization] = "secret"
        }
        return try await next(request)
    }
}

private struct MarkedDispatch: RequestDispatch {
    let trail: Trail

    func dispatch(
        _ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send
    ) async throws -> CurlewResponse {
        if request.fields[.authorization] == nil { trail.note("secrets") }
        trail.note("sharing")
        return try await send(request)
    }
}

private struct MarkedLog: LogHandler {
    let trail: Trail
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { if event.message == "request" { trail.note("RequestLogging") } }
}

@Suite("The order of the steps of a call")
struct CallOrderTests {
    @Test("the steps of a call are in the order of the article's table")
    func order() async throws {
        let trail = Trail()
        let stub = StubTransport { _ in
            trail.note("the transport")
            return .response(.ok)
        }
        let logger = Logger(label: "test") { _ in MarkedLog(trail: trail) }
        let session = try HTTPSession(
            baseURL: "http://home.test/", transport: stub, defaultFields: [.userAgent: "default"]
        ) {
            Marker(trail: trail, step: "your links before")
            StandardChain(StandardChain.Options(logger: logger))
            // The link is the innermost one, before the end of the chain.
            Marker(trail: trail, step: "your links behind", dispatch: MarkedDispatch(trail: trail))
            CallListening(trail)
        }
        var options = RequestOptions()
        options.onResponse = { _, _ in
            trail.note("disposition")
            return .allow
        }
        _ = try await session.get("http://away.test/", options: options)
        // The disposition wraps the chain: it receives the result of the chain.
        var steps = trail.steps
        #expect(steps.popLast() == "disposition")
        // The default fields are visible to the first link, and to each one after it.
        steps = ["disposition", "default fields"] + steps.filter { $0 != "default fields" }
        #expect(Set(steps).count == steps.count)
        let article = try Repository.text(of: "DocC/Curlew.docc/Architecture.md")
        let table = try #require(article.components(separatedBy: "| step | acts on |\n").last)
        let rows = table.split(separator: "\n").prefix { $0.hasPrefix("|") }.dropFirst().map { row in
            String(row.split(separator: "|")[0])
        }
        let found = rows.compactMap { row in steps.first { row.contains($0) } }
        #expect(found == steps)
        // The wait for the network has its own tests: without a network the listeners receive further attempts.
        #expect(rows.count == steps.count + 1)
    }
}
