import ArgumentParser
import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

/// `curlew upload FILE URL`: sends a file as a body, or as a part of a form.
struct Upload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Upload a file, and print the body of the response.")

    /// The maximum length of the printed answer.
    private static let answerLimit: ByteSize = .mebibytes(1)

    @Argument(help: "The file.")
    var path: String

    @Argument(help: "The URL.")
    var url: String

    @Option(help: "The method; POST with --form and --resumable, else PUT.")
    var method: String?

    @Option(help: "Send it as a form of several parts, in the field of this name.")
    var form: String?

    @Option(help: "Bytes a second, such as 500k or 2M.", transform: Download.amount)
    var limit: Int64?

    @Flag(
        help:
            "Resume a broken upload, also in a later run: by tus or the IETF's draft, according to the server."
    )
    var resumable = false

    @Option(help: "As --resumable, by this protocol: ietf or tus.")
    var `protocol`: ResumableProtocol?

    @Option(help: "The file that keeps the state of a resumable upload until its end; FILE.upload by default.")
    var token: String?

    enum ResumableProtocol: String, ExpressibleByArgument, CaseIterable {
        case ietf
        case tus
    }

    /// The protocol of a resumable upload; nil for a plain upload.
    private var dialect: ResumableUpload.Dialect? {
        switch self.protocol {
        case .ietf: .ietf
        case .tus: .tus
        case nil: resumable ? .automatic : nil
        }
    }

    /// The URL with a scheme.
    private var target: String { RequestLine.absolute(url) }

    func validate() throws {
        guard form == nil || dialect == nil else { throw ValidationError("A form does not resume.") }
        guard token == nil || dialect != nil else { throw ValidationError("--token is for uploads that resume.") }
    }

    func run() async throws {
        guard let verb = HTTPRequest.Method(method ?? (form == nil && dialect == nil ? "PUT" : "POST")) else {
            throw ValidationError("\"\(method ?? "")\" is no method.")
        }
        var configuration = SessionConfiguration()
        if let limit { configuration.rateLimit = RateLimit(sending: ByteSize(Int(limit))) }
        let session = try HTTPSession(configuration: configuration, chain: .singleUser)
        let board = TransferBoard(names: [FileNames.name(ofPath: path)])
        let progress = CallProgress()
        let watching = Task {
            for await step in progress {
                await board.advance(0, to: step.progress.sent.wire, of: step.progress.sent.total)
            }
        }
        let sending = Task {
            if let dialect { return try await resume(dialect, verb, through: session, board) }
            return try await send(verb, through: session, progress)
        }
        let interruption = await Interruption { sending.cancel() }
        let result = await sending.result
        // An error before the creation of a task has not finished the progress.
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
            try show(answer)
        } catch let error as CurlewError {
            await board.end(0, .failed("failed"))
            throw error
        }
    }

    /// Prints the answer, with a line end.
    private func show(_ answer: [UInt8]) throws {
        let output = OutputFile.standard
        var printer = BodyPrinter(for: [:], isTerminal: output.isTerminal, isColored: false)
        let text = printer.print(answer) + printer.finish()
        try output.write(text.isEmpty || text.last == 0x0A ? text : text + [0x0A])
    }

    /// Sends the file, or the rest of it if there is a token of an earlier run.
    /// - Returns: The body of the answer.
    private func resume(
        _ dialect: ResumableUpload.Dialect, _ method: HTTPRequest.Method, through session: HTTPSession,
        _ board: TransferBoard
    ) async throws -> [UInt8] {
        let tokenFile = token ?? "\(path).upload"
        var upload = ResumableUpload.Options()
        upload.tokenFile = tokenFile
        if access(tokenFile, F_OK) == 0 {
            let token = try await UploadToken(contentsOf: tokenFile)
            guard token.target == (try CurlewURI(target)) else {
                throw CurlewError(.invalidResumeToken, "\(tokenFile) is about another upload, to \(token.target)")
            }
            upload.token = token
        }
        let (steps, step) = AsyncStream.makeStream(
            of: ResumableUpload.Progress.self, bufferingPolicy: .bufferingNewest(1))
        let watching = Task { for await step in steps { await board.advance(0, to: step.sent, of: step.total) } }
        defer {
            step.finish()
            watching.cancel()
        }
        let response = try await session.upload(
            file: path, to: .raw(target), resumable: dialect, method: method, upload: upload
        ) { progress in step.yield(progress) }
        return try await response.body.collect(upTo: Self.answerLimit)
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
            response = try await session.upload(.raw(target), .multipart(parts), method: method, options: options)
        } else {
            response = try await session.upload(.raw(target), .file(path), method: method, options: options)
        }
        guard response.status.kind == .successful else {
            throw CurlewError(
                .unacceptableStatus, "the server answered \(response.status.code) \(response.status.reasonPhrase)")
        }
        return try await response.body.collect(upTo: Self.answerLimit)
    }
}
