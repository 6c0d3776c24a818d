internal import FoundationEssentials

/// Measures Curlew's serializers in this process against what one would write with Foundation, round after round in turn.
@main
struct SerializationBenchmark {
    static func main() async throws {
        let options = try Options(Array(CommandLine.arguments.dropFirst()))
        let contests = [
            try queryForm(), try jsonEncoding(.small), try jsonEncoding(.large), try jsonEncodingIntegers(),
            try jsonEncodingDoubles(), try jsonDecoding(.small),
            try jsonDecoding(.large), try await multipart(),
        ]
        var rows: [Row] = []
        for contest in contests {
            rows += try await contest.rows(rounds: options.rounds)
            print(
                Report.lines(Array(rows.suffix(contest.entrants.count)), withHead: rows.count == contest.entrants.count)
            )
        }
        if let path = options.output { try Data(Report.json(rows).utf8).write(to: URL(fileURLWithPath: path)) }
    }
}

/// What the command line says.
struct Options {
    var rounds = 5
    var output: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw UnusableArguments() }
            switch name {
            case "--output": output = value
            case "--rounds":
                guard let rounds = Int(value), rounds > 0 else { throw UnusableArguments() }
                self.rounds = rounds
            default: throw UnusableArguments()
            }
        }
    }
}

/// usage: bench-serialization [--rounds N] [--output FILE]
struct UnusableArguments: Error {}
