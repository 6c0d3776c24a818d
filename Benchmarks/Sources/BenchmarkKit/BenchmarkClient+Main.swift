internal import Glibc

extension BenchmarkClient {
    /// The main function of a client: reads the arguments, warms up, measures and prints one line of JSON.
    ///
    /// This function is not `async`: the main thread of an asynchronous program ends itself, which crashes valgrind
    /// 3.19.
    public static func main() {
        Task.detached { exit(await run()) }
        while true { pause() }
    }

    private static func run() async -> Int32 {
        do {
            let assignment = try Assignment(Array(CommandLine.arguments.dropFirst()))
            let client = try Self(assignment)
            let tally = try await client.measure(assignment)
            try await client.shutdown()
            return tally.errors == 0 ? 0 : 3
        } catch is UsageError {
            complain(Assignment.usage)
            return 2
        } catch {
            complain(String(reflecting: error))
            return 1
        }
    }

    private func measure(_ assignment: Assignment) async throws -> Tally {
        let workers = Workers(
            count: assignment.concurrency,
            executor: assignment.workload == .getOnLoop ? try ownLoop() : nil,
            operation: operation(assignment.workload)
        )
        let warmUp = await workers.run(assignment.warmUp)
        if let error = warmUp.firstError { complain("while warming up: \(error)") }
        let start = Usage.now()
        let tally = await workers.run(assignment.requests)
        let end = Usage.now()
        if let error = tally.firstError { complain(error) }
        report(tally, from: start, to: end, workload: assignment.workload)
        return tally
    }

    private func ownLoop() throws -> any TaskExecutor {
        guard let loop else { throw BenchmarkError.notSupported }
        return loop
    }

    private func operation(_ workload: Workload) -> @Sendable () async throws -> Int {
        switch workload {
        case .get, .getOnLoop, .getStandard, .getLimited, .getMeasured, .getObserved, .getTraced: { try await get() }
        case .json: { try await decodeJSON() }
        case .stream: { try await stream() }
        case .download: { try await download() }
        case .upload: { try await upload() }
        }
    }

    private func decodeJSON() async throws -> Int {
        guard try await json().isConsistent else { throw BenchmarkError.inconsistentDocument }
        return 0
    }

    private func report(_ tally: Tally, from start: Usage, to end: Usage, workload: Workload) {
        let members = [
            "\"client\":\"\(Self.name)\"",
            "\"workload\":\"\(workload.rawValue)\"",
            "\"requests\":\(tally.requests)",
            "\"errors\":\(tally.errors)",
            "\"wall_seconds\":\(end.wallSeconds - start.wallSeconds)",
            "\"cpu_seconds\":\(end.processorSeconds - start.processorSeconds)",
            "\"peak_rss_bytes\":\(Usage.peakResidentBytes())",
            "\"bytes\":\(tally.bytes)",
        ]
        print("{\(members.joined(separator: ","))}")
        // The result must not be lost if the client crashes at its end.
        fflush(nil)
    }

    private static func complain(_ text: String) {
        let line = Array("\(name): \(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private func complain(_ text: String) { Self.complain(text) }
}
