/// The results of callers in a part of a run.
struct Summary: Sendable {
    var successes = 0
    var failures = 0
    var sent = 0
    /// The mean time to an answer or an error, in seconds.
    var meanTime = 0.0

    init(_ seconds: ArraySlice<Simulation.Second>) {
        var waited = 0.0
        for second in seconds {
            successes += second.successes
            failures += second.failures
            sent += second.sent
            waited += second.waited
        }
        let calls = successes + failures
        meanTime = calls > 0 ? waited / Double(calls) : 0
    }

    /// The three parts of a run: before, during and after the degradation.
    static func parts(of seconds: [Simulation.Second], _ plan: Simulation.Plan) -> [(name: String, Summary)] {
        let begin = min(Int(plan.degraded.lowerBound), seconds.count)
        let end = min(Int(plan.degraded.upperBound), seconds.count)
        return [
            ("before", Summary(seconds[..<begin])), ("degraded", Summary(seconds[begin..<end])),
            ("after", Summary(seconds[end...])),
        ]
    }
}
