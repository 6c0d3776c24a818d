import ArgumentParser
import Curlew
import Glibc
import HTTPTypes

/// `curlew upload FILE URL`: a file as a body, or as a part of a form.
struct Upload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Upload a file, and print what the server says to it.")

    /// The most of an answer that is printed.
    private static let answerLimit: ByteSize = .mebibytes(1)

    @Argument(help: "The file.")
    var path: String

    @Argument(help: "Where to.")
    var url: String

    @Option(help: "The method; POST with --form, else PUT.")
    var method: String?

    @Option(help: "Send it as a form of several parts, in the field of this name.")
    var form: String?

    @Option(help: "Bytes a second, such as 500k or 2M.", transform: Download.amount)
    var limit: Int64?

    func run() async throws {
        guard let verb = HTTPRequest.Method(method ?? (form == nil ? "PUT" : "POST")) else {
            throw ValidationError("\"\(method ?? "")\" is no method.")
        }
        var configuration = SessionConfiguration()
        if let limit { configuration.rateLimit = RateLimit(sending: ByteSize(Int(limit))) }
        let session = try HTTPSession(configuration: configuration, chain: .singleUser)
        let board = TransferBoard(names: [path.split(separator: "/").last.map(String.init) ?? path])
        let progress = CallProgress()
        let watching = Task {
            for await step in progress {
                await board.advance(0, to: step.progress.sent.wire, of: step.progress.sent.total)
            }
        }
        let sending = Task { try await send(verb, through: session, progress) }
        let interruption = await Interruption { sending.cancel() }
        let result = await sending.result
        // What failed before a task was made has not said so.
        progress.finish()
        await watching.value
        await interruption.end()
        await session.shutdown(deadline: .seconds(1))
        if await interruption.hasHappened {
            await board.end(0, .failed("interrupted"))
            throw ExitCode(130)
        }
        do {
            let answer = try result.get()
            await board.end(0, .done)
            Terminal.write(answer.isEmpty || answer.last == 0x0A ? answer : answer + [0x0A], to: STDOUT_FILENO)
        } catch let error as CurlewError {
            await board.end(0, .failed("\(error.code): \(error.message)"))
            throw ExitCode(ExitStatus.status(for: error.code))
        }
    }

    /// - Returns: The body of the answer.
    private func send(
        _ method: HTTPRequest.Method, through session: HTTPSession, _ progress: CallProgress
    ) async throws -> [UInt8] {
        var options = RequestOptions()
        progress.follow(&options)
        let response: CurlewResponse
        if let form {
            var parts = MultipartFormData()
            try parts.append(file: path, name: form)
            response = try await session.upload(.raw(url), method: method, from: .multipart(parts), options: options)
        } else {
            response = try await session.upload(.raw(url), method: method, from: .file(path), options: options)
        }
        guard response.status.kind == .successful else {
            throw CurlewError(
                .unacceptableStatus, "the server answered \(response.status.code) \(response.status.reasonPhrase)")
        }
        return try await response.body.collect(upTo: Self.answerLimit)
    }
}
