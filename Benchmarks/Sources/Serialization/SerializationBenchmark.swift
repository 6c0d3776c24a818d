internal import FoundationEssentials

/// Measures Curlew's serializers in this process against what one would write with Foundation, round after round in turn.
@main
struct SerializationBenchmark {
    static func main() async throws {
        let options = try Options(Array(CommandLine.arguments.dropFirst()))
        let contests = [
            try queryForm(), try jsonEncoding(.small), try jsonEncoding(.large), try jsonDecoding(.small),
            try jsonDecoding(.large), try jsonIntegers(), try jsonDoubles(), try await multipart(),
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

/// What the command line says.
struct Options {
    var rounds = 5
    var output: String?
    /// A part of the names of the workloads that are measured; nil is all.
    var only: String?
    /// The only client that is measured; nil is all.
    var client: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw UnusableArguments() }
            switch name {
            case "--output": output = value
            case "--only": only = value
            case "--client": client = value
            case "--rounds":
                guard let rounds = Int(value), rounds > 0 else { throw UnusableArguments() }
                self.rounds = rounds
            default: throw UnusableArguments()
            }
        }
    }
}

/// usage: bench-serialization [--rounds N] [--only NAME] [--client NAME] [--output FILE]
struct UnusableArguments: Error {}
