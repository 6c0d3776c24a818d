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
            executor: assignment.workload.isOnLoop ? try ownLoop() : nil,
            operation: try await operation(assignment)
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

    private func operation(_ assignment: Assignment) async throws -> @Sendable (Int) async throws -> Int {
        switch assignment.workload {
        case .get, .getOnLoop, .getStandard, .getLimited, .getMeasured, .getObserved, .getTraced:
            return { _ in try await get() }
        case .json: return { _ in try await decodeJSON() }
        case .stream: return { _ in try await stream() }
        case .download: return { _ in try await download() }
        case .upload: return { _ in try await upload() }
        case .webSocketEcho, .webSocketEchoOnLoop: return try await echo(assignment.concurrency)
        case .webSocketIdle:
            return { _ in
                try await openIdleWebSocket()
                return 0
            }
        }
    }

    /// Opens a WebSocket for each caller.
    private func echo(_ count: Int) async throws -> @Sendable (Int) async throws -> Int {
        var opened: [any EchoSocket] = []
        for _ in 0..<count { opened.append(try await openWebSocket()) }
        let sockets = opened
        let message = [UInt8](repeating: 0, count: 1024)
        return { caller in
            let count = try await sockets[caller].echo(message)
            guard count == message.count else { throw BenchmarkError.wrongEcho(count) }
            return count
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
