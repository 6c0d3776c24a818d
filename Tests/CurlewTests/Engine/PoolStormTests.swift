import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import Testing

/// Random requests, each with its own number, some of which are cancelled, suspended or too slow, through a small pool.
@Suite("The pool under random load", .keepsToPool, .noLeaks, .timeLimit(.minutes(3)))
struct PoolStormTests {
    /// The end of a request that its caller chooses.
    private enum Ending: CaseIterable {
        case whole, cancelledAtOnce, cancelledLater, suspended, outOfTime
    }

    private struct Plan: Sendable {
        let target: String
        let server: Int
        let ending: Ending
        let isPost: Bool
        /// The turns of other tasks before the cancellation or the resumption.
        let yields: Int
    }

    private func plans(_ seed: UInt64) -> [Plan] {
        var numbers = SeededNumbers(seed: seed)
        return (0..<300).map { index in
            let isUsual = Bool.random(using: &numbers)
            return Plan(
                target: "/\(seed)/\(index)", server: Int.random(in: 0..<3, using: &numbers),
                ending: isUsual ? .whole : Ending.allCases[Int.random(in: 0..<5, using: &numbers)],
                isPost: Int.random(in: 0..<4, using: &numbers) == 0,
                yields: Int.random(in: 0..<200, using: &numbers))
        }
    }

    private func servers() async throws -> [MockServer] {
        let echo: MockServer.Handler = { request in
            var body: [UInt8] = []
            for try await chunk in request.body { body += chunk }
            return MockResponse(body: .string(request.target + String(decoding: body, as: UTF8.self)))
        }
        var secure = MockServer.Configuration(protocols: [.http2])
        secure.tls = ServerTLS(try TestChain.sent())
        secure.concurrentStreams = 2
        var closing = MockServer.Configuration()
        closing.protocols = [.http11]
        return [
            try await MockServer.start(MockServer.Configuration(), handler: echo),
            try await MockServer.start(secure, handler: echo),
            try await MockServer.start(
                closing,
                handler: { request in
                    var response = try await echo(request)
                    // The connection is closed after a response whose number ends with 3.
                    if request.target.hasSuffix("3") { response.fields[.connection] = "close" }
                    return response
                }),
        ]
    }

    @Test(
        "each response belongs to its request, and no connection or exchange is left over", arguments: [UInt64](1...4))
    func storm(seed: UInt64) async throws {
        let servers = try await servers()
        let anchor = try TestChain.root.get().anchor
        let session = try makeSession {
            $0.connections.perHost = 2
            $0.connections.total = 4
            $0.connections.idle = 2
            $0.tasksInFlight = 40
            $0.security = anchor
        }
        await withTaskGroup(of: Void.self) { group in
            for plan in plans(seed) {
                let url = servers[plan.server].url(plan.target)
                group.addTask { await follow(plan, url, session) }
            }
        }
        let figures = await session.session?.figures()
        #expect(figures?.runningTasks == 0)
        #expect(figures?.queuedTasks == 0)
        #expect(figures?.tasksAwaitingConnections == 0)
        #expect(figures?.streams == 0)
        for server in servers { #expect(try await session.fetch(server.url("/after")) == Array("/after".utf8)) }
        await session.shutdown()
    }

    private func follow(_ plan: Plan, _ url: String, _ session: HTTPSession) async {
        var options = RequestOptions()
        if plan.ending == .outOfTime { options.totalTimeout = .milliseconds(3) }
        if plan.ending == .suspended {
            options.onTask = { task in
                task.suspend()
                Task {
                    for _ in 0..<plan.yields { await Task.yield() }
                    task.resume()
                }
            }
        }
        let content = plan.isPost ? "+\(plan.target)" : ""
        let call = Task { [options] in
            let body: CurlewRequest.Body = plan.isPost ? .string(content) : .none
            var request = try CurlewRequest(plan.isPost ? .post : .get, url, options: options)
            request.body = body
            return try await session.send(request).body.collect(upTo: .kibibytes(64))
        }
        switch plan.ending {
        case .cancelledAtOnce: call.cancel()
        case .cancelledLater:
            for _ in 0..<plan.yields { await Task.yield() }
            call.cancel()
        default: break
        }
        do {
            let body = try await call.value
            #expect(String(decoding: body, as: UTF8.self) == plan.target + content)
        } catch let error as CurlewError {
            switch plan.ending {
            case .cancelledAtOnce, .cancelledLater: #expect(error.code == .cancelled, "\(error)")
            case .outOfTime: #expect(error.code == .totalTimeout, "\(error)")
            case .whole, .suspended: Issue.record("\(plan) ended with \(error)")
            }
        } catch {
            Issue.record("\(plan) ended with \(error)")
        }
    }
}
