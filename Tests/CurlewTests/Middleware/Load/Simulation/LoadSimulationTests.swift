import FoundationEssentials
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The simulation of load and failure", .timeLimit(.minutes(1)))
struct LoadSimulationTests {
    @Test("limits let callers get the capacity of a degraded server, and the full service once it recovers")
    func limits() throws {
        let runs = StandardRuns()
        let without = Summary.parts(of: runs.without, runs.plan).map(\.1)
        let with = Summary.parts(of: runs.with, runs.plan).map(\.1)
        // Both runs have all calls, and the limits cost nothing while the server is healthy.
        for parts in [without, with] {
            #expect(parts.reduce(0) { $0 + $1.successes + $1.failures } == runs.plan.calls)
            #expect(parts[0].failures == 0)
        }
        // Two slots with a tenth of a second per request allow at most 600 requests in half a minute.
        #expect(with[1].successes > 500 && without[1].successes < 100)
        #expect(with[1].sent < without[1].sent / 10)
        // A server that works for callers that have given up does not recover by itself.
        #expect(without[2].successes == 0)
        #expect(with[2].failures < 20 && with[2].meanTime < 0.2)
    }

    /// `make simulate` sets the variable, and so draws the picture anew.
    @Test("the picture of the article matches the simulation")
    func picture() throws {
        let path = "DocC/Curlew.docc/Resources/load-and-failure.svg"
        let picture = StandardRuns().picture
        if ProcessInfo.processInfo.environment["CURLEW_DRAW"] == "1" {
            try Data(picture.utf8).write(to: URL(filePath: "\(Repository.root)/\(path)"))
        }
        #expect(try Repository.text(of: path) == picture, "`make simulate` draws it anew")
    }

    @Test("a gradient limit, and limits without a breaker, protect as well")
    func others() {
        var gradient = Simulation.Limits()
        gradient.concurrency = .gradient(from: 20, within: 2...100)
        var alone = Simulation.Limits()
        alone.breaker = nil
        for limits in [gradient, alone] {
            let plan = Simulation.Plan(limits: limits)
            let parts = Summary.parts(of: Simulation.run(plan), plan).map(\.1)
            #expect(parts[0].failures == 0 && parts[1].successes > 300 && parts[2].failures < 100)
        }
    }
}
