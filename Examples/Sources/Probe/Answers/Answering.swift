internal import Curlew

/// Writes the answers to a line, each with the line's id first.
struct Answering: Sendable {
    let id: Identifier
    private let sink: @Sendable ([UInt8]) async -> Void

    init(id: Identifier, write: @escaping @Sendable ([UInt8]) async -> Void) {
        self.id = id
        sink = write
    }

    /// Writes an answer.
    func write(_ members: [JSONValue.Member]) async {
        var line = Array(#"{"id":"#.utf8) + id.text
        for member in members {
            line.append(UInt8(ascii: ","))
            member.append(to: &line)
        }
        line.append(UInt8(ascii: "}"))
        await sink(line)
    }

    /// Does the work, and reports its error as the answer.
    func answer(_ work: Operation.Work) async {
        do {
            try await work(self)
        } catch {
            await answer(error)
        }
    }

    /// Writes an error as the answer.
    func answer(_ error: any Error) async {
        switch error {
        case LineProblem.unsupported(let reason): await write([.init("skip", .string(reason))])
        case LineProblem.unusable(let reason): await write(Self.failure(reason, "bad-request"))
        case let error as CurlewError: await write(Self.failure(error.message, error.code.rawValue))
        // The library throws no other error; an unexpected one is visible here.
        default: await write(Self.failure("\(error)", "unexpected"))
        }
    }

    /// The members that describe an error.
    static func failure(_ reason: String, _ code: String) -> [JSONValue.Member] {
        [.init("error", .string(reason)), .init("code", .string(code))]
    }
}
