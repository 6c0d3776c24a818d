internal import Glibc

/// One piece of work that several do.
struct Contest {
    /// One who does it.
    struct Entrant {
        let name: String
        /// Does the work once.
        /// - Returns: A number that depends on what came out, so that no part of the work can be left out.
        let work: () async throws -> Int
    }

    let workload: String
    /// How often the work is done in a round.
    let repetitions: Int
    /// The last one is the peer that the others are compared with.
    let entrants: [Entrant]

    /// The contest with one client alone, or as it is.
    func only(_ client: String?) -> Contest {
        guard let client else { return self }
        return Contest(
            workload: workload, repetitions: repetitions, entrants: entrants.filter { $0.name == client })
    }

    /// The median of some rounds, in which all do the work in turn.
    func rows(rounds: Int) async throws -> [Row] {
        var times: [[Double]] = entrants.map { _ in [] }
        // A round to warm up does not count.
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

    /// Has the first entrant do the work so often, and nothing else.
    func repeatFirst(_ repetitions: Int) async throws {
        let expected = try await entrants[0].work()
        for _ in 0..<repetitions {
            guard try await entrants[0].work() == expected else {
                throw WrongResult(workload: workload, client: entrants[0].name)
            }
        }
    }

    /// Microseconds of processor time that the work takes once.
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

    /// Seconds, of all threads: other programs on the machine do not count.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The work came to something else than it should have.
struct WrongResult: Error {
    let workload: String
    let client: String
}
