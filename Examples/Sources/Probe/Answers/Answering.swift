internal import Curlew

/// Writes the answers to one line, each with the line's id first.
struct Answering: Sendable {
    let id: Identifier
    private let sink: @Sendable ([UInt8]) async -> Void

    init(id: Identifier, write: @escaping @Sendable ([UInt8]) async -> Void) {
        self.id = id
        sink = write
    }

    /// Writes one answer.
    func write(_ members: [JSONValue.Member]) async {
        var line = Array(#"{"id":"#.utf8) + id.text
        for member in members {
            line.append(UInt8(ascii: ","))
            member.append(to: &line)
        }
        line.append(UInt8(ascii: "}"))
        await sink(line)
    }

    /// Does the work, and answers for it if it fails.
    func answer(_ work: Operation.Work) async {
        do {
            try await work(self)
        } catch {
            await answer(error)
        }
    }

    /// Answers with an error.
    func answer(_ error: any Error) async {
        switch error {
        case LineProblem.unsupported(let reason): await write([.init("skip", .string(reason))])
        case LineProblem.unusable(let reason): await write(Self.failure(reason, "bad-request"))
        case let error as CurlewError: await write(Self.failure(error.message, error.code.rawValue))
        // The library throws nothing else; if it ever did, it would be seen here.
        default: await write(Self.failure("\(error)", "unexpected"))
        }
    }

    /// The members that tell of an error.
    static func failure(_ reason: String, _ code: String) -> [JSONValue.Member] {
        [.init("error", .string(reason)), .init("code", .string(code))]
    }
}
