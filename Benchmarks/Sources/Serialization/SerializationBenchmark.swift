internal import FoundationEssentials
internal import Glibc

/// A benchmark of Curlew's serializers in this process, compared with typical code for Foundation; all take turns in
/// each round.
@main
struct SerializationBenchmark {
    /// This function is not `async`: the main thread of an asynchronous program ends itself, which crashes valgrind
    /// 3.19.
    static func main() {
        Task.detached {
            do {
                let options = try Options(Array(CommandLine.arguments.dropFirst()))
                if let workload = options.counted {
                    try await count(workload, repetitions: options.repetitions)
                } else {
                    try await compare(options)
                }
                exit(0)
            } catch {
                let line = Array("bench-serialization: \(String(reflecting: error))\n".utf8)
                _ = write(STDERR_FILENO, line, line.count)
                exit(1)
            }
        }
        while true { pause() }
    }

    /// Performs Curlew's part of one workload, so that callgrind can count instructions.
    private static func count(_ workload: String, repetitions: Int) async throws {
        let contests = [try jsonEncoding(.small), try jsonDecoding(.small)]
        guard let contest = contests.first(where: { $0.workload == workload }) else { throw UnusableArguments() }
        try await contest.repeatFirst(repetitions)
    }

    private static func compare(_ options: Options) async throws {
        let contests = [
            try queryForm(), try jsonEncoding(.small), try jsonEncoding(.large), try jsonEncodingIntegers(),
            try jsonEncodingDoubles(), try jsonDecoding(.small), try jsonDecoding(.large), try jsonDecodingIntegers(),
            try jsonDecodingDoubles(), try await multipart(),
        ]
        var rows: [Row] = []
        for contest in contests where options.only.map({ contest.workload.contains($0) }) ?? true {
            let new = try await contest.only(options.client).rows(rounds: options.rounds)
            print(Report.lines(new, withHead: rows.isEmpty))
            rows += new
        }
        if let path = options.output { try Data(Report.json(rows).utf8).write(to: URL(fileURLWithPath: path)) }
    }
}

/// The options of the command line.
struct Options {
    var rounds = 5
    var output: String?
    /// A part of the names of the measured workloads; nil for all.
    var only: String?
    /// The only measured client; nil for all.
    var client: String?
    /// The workload that is only performed, and not measured.
    var counted: String?
    var repetitions = 0

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw UnusableArguments() }
            switch name {
            case "--output": output = value
            case "--only": only = value
            case "--client": client = value
            case "--count": counted = value
            case "--rounds": rounds = try Self.number(value)
            case "--repetitions": repetitions = try Self.number(value)
            default: throw UnusableArguments()
            }
        }
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text), number > 0 else { throw UnusableArguments() }
        return number
    }
}

/// An error for invalid arguments.
///
/// usage: bench-serialization [--rounds N] [--only NAME] [--client NAME] [--output FILE], or --count WORKLOAD
/// --repetitions N
struct UnusableArguments: Error {}
