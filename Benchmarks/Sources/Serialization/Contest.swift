internal import Glibc

/// A workload that several entrants perform.
struct Contest {
    /// An entrant of a contest.
    struct Entrant {
        let name: String
        /// Performs the work once.
        /// - Returns: A number that depends on the result, so that the optimizer cannot remove any work.
        let work: () async throws -> Int
    }

    let workload: String
    /// The number of repetitions in a round.
    let repetitions: Int
    /// The entrants; the last one is the peer that the others are compared with.
    let entrants: [Entrant]

    /// Returns the contest with only one client, or unchanged for nil.
    func only(_ client: String?) -> Contest {
        guard let client else { return self }
        return Contest(
            workload: workload, repetitions: repetitions, entrants: entrants.filter { $0.name == client })
    }

    /// The medians of some rounds, in which all entrants take turns.
    func rows(rounds: Int) async throws -> [Row] {
        var times: [[Double]] = entrants.map { _ in [] }
        // The first round is a warm-up and does not count.
        for round in 0...rounds {
            for (index, entrant) in entrants.enumerated() {
                let time = try await measure(entrant)
                if round > 0 { times[index].append(time) }
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        return zip(entrants, medians).map { entrant, median in
            Row(
                workload: workload, client: entrant.name, median: median,
                ratioToPeer: median / medians[medians.count - 1])
        }
    }

    /// Repeats the work of the first entrant, and nothing else.
    func repeatFirst(_ repetitions: Int) async throws {
        let expected = try await entrants[0].work()
        for _ in 0..<repetitions {
            guard try await entrants[0].work() == expected else {
                throw WrongResult(workload: workload, client: entrants[0].name)
            }
        }
    }

    /// The processor time of the work in microseconds.
    private func measure(_ entrant: Entrant) async throws -> Double {
        let expected = try await entrant.work()
        let start = Self.processorTime()
        for _ in 0..<repetitions {
            guard try await entrant.work() == expected else {
                throw WrongResult(workload: workload, client: entrant.name)
            }
        }
        return (Self.processorTime() - start) * 1e6 / Double(repetitions)
    }

    /// The processor time of all threads in seconds, without other programs on the machine.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// An error for a result that differs from the expected one.
struct WrongResult: Error {
    let workload: String
    let client: String
}
