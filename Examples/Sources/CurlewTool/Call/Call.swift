import ArgumentParser
import Curlew
import CurlewStorage
import Glibc
import HTTPTypes
import Logging
import TerminalOutput

/// `curlew [METHOD] URL [item…]`: sends a request, and prints the body of the response.
struct Call: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Send a request and print the body; the word 'get' may be omitted.",
        usage: "curlew [<method>] <url> [<item> ...] [<options>]", discussion: CallHelp.text)

    @Argument(help: ArgumentHelp("[METHOD] URL [item…]", valueName: "word"))
    var words: [String] = []

    @OptionGroup(title: "Request") var request: RequestWords
    @OptionGroup(title: "Connection") var connection: ConnectionWords
    @OptionGroup(title: "Output") var output: OutputWords

    @Flag(help: "Answer from a cache on the disk where HTTP allows it, and store there; see 'curlew cache'.")
    var cache = false

    @OptionGroup var folder: CacheFolder

    func validate() throws {
        _ = try RequestLine(words, request)
        if output.curl, cache { throw ValidationError("--curl sends nothing; it has no --cache.") }
    }

    func run() async throws {
        var line = try RequestLine(words, request)
        if let user = line.credential, !user.contains(":"), !output.curl {
            line.credential = "\(user):\(try PasswordPrompt.password(of: user))"
        }
        if output.curl {
            let text = try await CurlText(line, connection, output).text()
            return try OutputFile.standard.write("\(text)\n")
        }
        // The library's warnings are not shown: the user of --insecure knows its meaning.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let work = Task { [line] in try await exchange(line) }
        let interruption = await Interruption {
            work.cancel()
            // A write into a full pipe cannot be cancelled.
            try? await Task.sleep(for: .seconds(1))
            _exit(130)
        }
        let result = await work.result
        await interruption.end()
        if await interruption.hasHappened { throw ExitCode(130) }
        try conclude(result)
    }

    /// Throws the error of the call; with `--silent`, only its status.
    private func conclude(_ result: Result<Void, any Error>) throws {
        do {
            try result.get()
        } catch {
            guard output.isSilent, !output.showsErrors, let status = ExitStatus.status(ofCallWith: error) else {
                throw error
            }
            throw ExitCode(status)
        }
    }

    // MARK: Exchange

    private func exchange(_ line: RequestLine) async throws {
        guard cache else { return try await exchange(line, through: nil) }
        let store = try await folder.open()
        let cache = HTTPCache(store: store, mode: .singleUser)
        do {
            try await exchange(line, through: cache)
        } catch {
            try? await store.close()
            throw error
        }
        await cache.flush()
        try await store.close()
    }

    private func exchange(_ line: RequestLine, through cache: HTTPCache?) async throws {
        let verbose = VerboseLines(isOn: output.isVerbose, showsSecrets: output.showsSecrets)
        let session = try await CallSession.make(connection, cache: cache, link: verbose.link)
        var options = RequestOptions(totalTimeout: connection.maximumTime?.duration)
        options.showsQueries = true
        let tasks = CallTasks()
        tasks.follow(&options)
        var request = try await line.request(options: options)
        if output.events, !line.hasField("Accept") {
            request.fields[.accept] = "text/event-stream, application/x-ndjson, */*;q=0.5"
        }
        let file = OutputFile(try outputPath(of: line))
        var result = CallResult(url: request.uri.description)
        do {
            let response = try await session.send(request)
            result.response = response
            try await receive(response, of: line, into: file, &result)
        } catch {
            result.error = error
        }
        await session.shutdown(deadline: result.error == nil ? .seconds(1) : .zero)
        if !Task.isCancelled { try await report(result, tasks) }
        if let error = result.error { throw error }
    }

    private func receive(
        _ response: CurlewResponse, of line: RequestLine, into file: OutputFile, _ result: inout CallResult
    ) async throws {
        let heads = ResponseHeads(response)
        let printer = ResponsePrinter(file, output)
        defer { result.size = printer.size }
        if let path = output.headFile { try OutputFile(path).write(heads.text) }
        if output.includesHead || line.method == .head { try printer.show(heads) }
        if let status = response.cacheStatus, !output.isSilent { Messages.note("cache: \(status)") }
        let isFailure = response.status.code >= 400 && (output.fails || output.failsWithBody)
        if isFailure, !output.failsWithBody {
            await response.discard()
        } else if output.events {
            try await printer.showEvents(of: response)
        } else {
            try await printer.showBody(of: response)
        }
        if isFailure {
            throw CurlewError(
                .unacceptableStatus, "the server answered \(response.status.code) \(response.status.reasonPhrase)")
        }
    }

    /// Writes the texts of `--timing` and `--write-out`, also after a failure.
    private func report(_ result: CallResult, _ tasks: CallTasks) async throws {
        guard output.timing || output.writeOut != nil else { return }
        let report = await TimingReport(tasks.finished, result)
        if output.timing { Terminal.write(report.text, to: STDERR_FILENO) }
        guard let format = output.writeOut else { return }
        let file = OutputFile.standard
        let (text, unknown) = report.writeOut(format, isTerminal: file.isTerminal)
        for name in unknown where !output.isSilent { Messages.note("--write-out has no variable \(name)") }
        do {
            try file.write(text)
        } catch {
            throw result.error ?? error
        }
    }

    private func outputPath(of line: RequestLine) throws -> String {
        guard output.usesRemoteName else { return output.output ?? "-" }
        let name = try CurlewURI(line.url).path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw CurlewError(.invalidDestination, "the URL names no file; --output does")
        }
        // A name that begins with a dash would be an option of the next command.
        return name.hasPrefix("-") ? "./\(name)" : String(name)
    }
}
